//===- DLPack.cpp - Arrays from and to other libraries
//-------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "DLPack.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace girih::python {
namespace {

// The ABI of DLPack 1 (dlpack.h of the specification), declared here in our own names. Version 1.1
// added the codes of 8-bit floats.

enum DeviceType : int32_t { HostMemory = 1, CudaMemory = 2, CudaHostMemory = 3, CudaManaged = 13 };
enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3FN = 10,
  Float8E5M2 = 12
};
enum Flags : uint64_t { ReadOnly = 1, IsCopied = 2 };

struct Tensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: row-major
  uint64_t byteOffset;
};

struct Managed {
  Tensor tensor;
  void *context;
  void (*deleter)(Managed *self);
};

struct ManagedVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(ManagedVersioned *self);
  uint64_t flags;
  Tensor tensor;
};

/// What version 1.3 puts on a type, in a capsule: how to read its arrays without Python code.
struct ExchangeTable {
  uint32_t major, minor;
  const ExchangeTable *previous; ///< of another version
  void *allocate;
  int (*fromObject)(void *object, ManagedVersioned **tensor);
  void *toObject;
  int (*view)(void *object, Tensor *tensor); ///< null: only the one that owns
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

template <typename T> struct CapsuleNames;
template <> struct CapsuleNames<Managed> {
  static constexpr const char *fresh = "dltensor", *used = "used_dltensor";
};
template <> struct CapsuleNames<ManagedVersioned> {
  static constexpr const char *fresh = "dltensor_versioned", *used = "used_dltensor_versioned";
};

struct TypeEntry {
  rt::DType dtype;
  TypeCode code;
  uint8_t bits;
};

// tf32 is float32 with fewer digits that matter: it is exported as one and never imported.
constexpr TypeEntry types[] = {
    {rt::DType::F64, Float, 64},
    {rt::DType::F32, Float, 32},
    {rt::DType::F16, Float, 16},
    {rt::DType::BF16, BFloat, 16},
    {rt::DType::I8, Int, 8},
    {rt::DType::I16, Int, 16},
    {rt::DType::I32, Int, 32},
    {rt::DType::I64, Int, 64},
    {rt::DType::U8, UInt, 8},
    {rt::DType::U16, UInt, 16},
    {rt::DType::U32, UInt, 32},
    {rt::DType::U64, UInt, 64},
    {rt::DType::B1, Bool, 8},
    {rt::DType::TF32, Float, 32},
    {rt::DType::E4M3, Float8E4M3FN, 8},
    {rt::DType::E5M2, Float8E5M2, 8},
};

rt::DType importedType(const Tensor &tensor) {
  for (const TypeEntry &type : types)
    if (tensor.code == type.code && tensor.bits == type.bits && tensor.lanes == 1)
      return type.dtype;
  throw nb::type_error(("girih has no element type for DLPack code " + std::to_string(tensor.code) +
                        " with " + std::to_string(tensor.bits) + " bits and " +
                        std::to_string(tensor.lanes) + " lanes")
                           .c_str());
}

[[noreturn]] void bufferError(const std::string &message) {
  throw nb::buffer_error(message.c_str());
}

/// True if the elements fill their memory without gaps, in whatever order of dimensions.
bool isDense(const rt::ArrayArgument &view) {
  std::vector<size_t> dims(view.shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  std::sort(dims.begin(), dims.end(),
            [&](size_t a, size_t b) { return view.strides[a] < view.strides[b]; });
  int64_t expected = 1;
  for (size_t dim : dims) {
    if (view.shape[dim] == 1)
      continue;
    if (view.strides[dim] != expected)
      return false;
    expected *= view.shape[dim];
  }
  return true;
}

rt::ArrayArgument viewOf(const Tensor &tensor) {
  rt::ArrayArgument view;
  view.dtype = importedType(tensor);
  view.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  view.strides = rowMajorStrides(view.shape);
  if (tensor.strides)
    view.strides.assign(tensor.strides, tensor.strides + tensor.rank);
  return view;
}

char *dataOf(const Tensor &tensor) { return static_cast<char *>(tensor.data) + tensor.byteOffset; }

bool isHostMemory(const Tensor &tensor) {
  return tensor.deviceType == HostMemory || tensor.deviceType == CudaHostMemory;
}

/// The strides that a host array has once it is on the device.
std::vector<int64_t> stridesOnDevice(const rt::ArrayArgument &view) {
  bool empty = std::count(view.shape.begin(), view.shape.end(), 0) > 0;
  return !empty && isDense(view) ? view.strides : rowMajorStrides(view.shape);
}

/// Calls `visit` with the offset in elements of each element of a view, the last dimension fastest.
template <typename Visit> void forEachOffset(const rt::ArrayArgument &view, Visit visit) {
  int64_t count = 1;
  for (int64_t extent : view.shape)
    count *= extent;
  std::vector<int64_t> index(view.shape.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      offset += index[dim] * view.strides[dim];
    visit(offset);
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < view.shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

Array copyFromHost(const Tensor &tensor, rt::ArrayArgument view) {
  const char *data = dataOf(tensor);
  int64_t size = rt::sizeInBytes(view.dtype);
  Array array;
  array.view = view;
  array.view.strides = stridesOnDevice(view);
  std::vector<char> packed;
  if (array.view.strides != view.strides) {
    packed.reserve(array.spanBytes());
    forEachOffset(view, [&](int64_t offset) {
      packed.insert(packed.end(), data + offset * size, data + (offset + 1) * size);
    });
    data = packed.data();
  }
  array.memory = Memory::allocate(array.spanBytes());
  array.view.address = array.memory->address();
  synchronize();
  nb::gil_scoped_release released;
  rt::Device::get().copyToDevice(array.view.address, data, array.spanBytes());
  return array;
}

bool isGpuMemory(const Tensor &tensor) {
  return tensor.deviceType == CudaMemory || tensor.deviceType == CudaManaged;
}

/// Raises BufferError unless a tensor is on the GPU that girih runs on.
void checkDevice(const Tensor &tensor) {
  if (!isGpuMemory(tensor))
    bufferError("girih cannot take an array from DLPack device type " +
                std::to_string(tensor.deviceType) + "; expected host or CUDA memory");
  const rt::Driver &driver = rt::Device::get().driver();
  if (driver.isEmulated())
    bufferError("the array lives on a GPU, but girih runs on the emulated device: set "
                "GIRIH_DEVICE=cuda, or copy the array to the host");
  if (tensor.deviceId != driver.device())
    bufferError("the array lives on GPU " + std::to_string(tensor.deviceId) +
                ", but girih runs on GPU " + std::to_string(driver.device()));
}

Array shared(const Tensor &tensor, bool readOnly) {
  checkDevice(tensor);
  Array array;
  array.view = viewOf(tensor);
  array.view.address = reinterpret_cast<uint64_t>(dataOf(tensor));
  array.readOnly = readOnly;
  return array;
}

/// What a capsule held, and who gives it back to its producer, exactly once.
struct Taken {
  const Tensor *tensor;
  bool readOnly;
  std::shared_ptr<Memory> keeper;
};

template <typename T> Taken keep(T *managed) {
  auto keeper = std::make_shared<Memory>(0, 0, [managed] {
    if (!managed->deleter)
      return;
    nb::gil_scoped_acquire gil; // the producer may be Python
    managed->deleter(managed);
  });
  bool readOnly = false;
  if constexpr (std::is_same_v<T, ManagedVersioned>) {
    if (managed->major != 1)
      bufferError("the array comes with DLPack version " + std::to_string(managed->major) +
                  ", girih reads version 1");
    readOnly = managed->flags & ReadOnly;
  }
  return {&managed->tensor, readOnly, keeper};
}

/// Takes the tensor out of a capsule of one kind.
template <typename T> Taken takeAs(nb::handle capsule) {
  auto *managed = static_cast<T *>(PyCapsule_GetPointer(capsule.ptr(), CapsuleNames<T>::fresh));
  if (!managed)
    nb::raise_python_error();
  PyCapsule_SetName(capsule.ptr(), CapsuleNames<T>::used);
  return keep(managed);
}

Taken take(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), CapsuleNames<ManagedVersioned>::fresh))
    return takeAs<ManagedVersioned>(capsule);
  if (PyCapsule_IsValid(capsule.ptr(), CapsuleNames<Managed>::fresh))
    return takeAs<Managed>(capsule);
  throw nb::type_error("expected a DLPack capsule that nobody has taken yet");
}

/// The table of an object's type for version 1, if it has one.
const ExchangeTable *exchangeTable(nb::handle object) {
  static PyObject *const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  nb::object capsule =
      nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())), name));
  const char *const kind = "dlpack_exchange_api";
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), kind)) {
    PyErr_Clear();
    return nullptr;
  }
  auto *table = static_cast<const ExchangeTable *>(PyCapsule_GetPointer(capsule.ptr(), kind));
  while (table && table->major != 1)
    table = table->previous;
  return table;
}

/// What an exported capsule keeps alive.
struct Export {
  std::vector<int64_t> shape, strides;
  std::shared_ptr<Memory> memory; ///< shared device memory, or
  std::vector<char> host;         ///< a copy on the host
};

template <typename T> void deleteExport(T *managed) {
  delete static_cast<Export *>(managed->context);
  delete managed;
}

template <typename T>
nb::object exportCapsule(std::unique_ptr<Export> content, Tensor tensor, uint64_t flags) {
  auto managed = std::make_unique<T>();
  tensor.shape = content->shape.data();
  tensor.strides = content->strides.data();
  managed->tensor = tensor;
  managed->context = content.get();
  managed->deleter = deleteExport<T>;
  if constexpr (std::is_same_v<T, ManagedVersioned>) {
    managed->major = 1;
    managed->minor = tensor.code == Float8E4M3FN || tensor.code == Float8E5M2;
    managed->flags = flags;
  }
  // A capsule that nobody has taken still owns its tensor.
  PyObject *capsule = PyCapsule_New(managed.get(), CapsuleNames<T>::fresh, [](PyObject *object) {
    if (PyCapsule_IsValid(object, CapsuleNames<T>::fresh))
      deleteExport(static_cast<T *>(PyCapsule_GetPointer(object, CapsuleNames<T>::fresh)));
  });
  if (!capsule)
    nb::raise_python_error();
  content.release();
  managed.release();
  return nb::steal(capsule);
}

std::pair<int, int> ownDevice() {
  const rt::Driver &driver = rt::Device::get().driver();
  return driver.isEmulated() ? std::pair(int{HostMemory}, 0)
                             : std::pair(int{CudaMemory}, int{driver.device()});
}

} // namespace

Array fromDlpack(nb::handle capsule) {
  Taken taken = take(capsule);
  if (isHostMemory(*taken.tensor))
    return copyFromHost(*taken.tensor, viewOf(*taken.tensor));
  Array array = shared(*taken.tensor, taken.readOnly);
  array.memory = std::make_shared<Memory>(array.lowestAddress(), array.spanBytes(),
                                          [keeper = taken.keeper] {});
  return array;
}

std::optional<Exchanged> fromExchange(nb::handle object) {
  const ExchangeTable *table = exchangeTable(object);
  if (!table)
    return std::nullopt;
  Exchanged result;
  Tensor tensor = {};
  if (table->view) {
    if (table->view(object.ptr(), &tensor) != 0)
      nb::raise_python_error();
    if (!isGpuMemory(tensor))
      return std::nullopt;
    result.array = shared(tensor, /*readOnly=*/false);
    result.array.memory = ownedBy(result.array, nb::borrow(object));
  } else {
    ManagedVersioned *managed = nullptr;
    if (table->fromObject(object.ptr(), &managed) != 0)
      nb::raise_python_error();
    Taken taken = keep(managed);
    tensor = *taken.tensor;
    if (!isGpuMemory(tensor))
      return std::nullopt;
    result.array = shared(tensor, taken.readOnly);
    result.array.memory = std::make_shared<Memory>(
        result.array.lowestAddress(), result.array.spanBytes(), [keeper = taken.keeper] {});
  }
  void *stream = nullptr;
  if (table->currentStream(tensor.deviceType, tensor.deviceId, &stream) != 0)
    nb::raise_python_error();
  result.stream = reinterpret_cast<uintptr_t>(stream);
  return result;
}

bool isReadOnly(nb::handle capsule) { return take(capsule).readOnly; }

nb::tuple describeDlpack(nb::handle capsule) {
  Taken taken = take(capsule);
  const Tensor &tensor = *taken.tensor;
  rt::ArrayArgument view = viewOf(tensor);
  // The device's memory for a copy is aligned.
  uint64_t address = reinterpret_cast<uint64_t>(dataOf(tensor));
  if (isHostMemory(tensor)) {
    view.strides = stridesOnDevice(view);
    address = 0;
  } else {
    checkDevice(tensor);
  }
  return nb::make_tuple(rt::name(view.dtype), toTuple(view.shape), toTuple(view.strides), address);
}

void writeBack(const Array &array, nb::handle capsule) {
  Taken taken = take(capsule);
  const Tensor &tensor = *taken.tensor;
  rt::ArrayArgument view = viewOf(tensor);
  if (taken.readOnly || !isHostMemory(tensor) || view.shape != array.view.shape ||
      view.dtype != array.view.dtype)
    bufferError(
        "an array that the kernel writes must be writable host memory of the same dtype and "
        "shape, which it no longer is");
  synchronize();
  nb::gil_scoped_release released;
  char *data = dataOf(tensor);
  if (view.strides == array.view.strides) {
    rt::Device::get().copyToHost(data, array.view.address, array.spanBytes());
    return;
  }
  // Otherwise the array was packed row-major on its way to the device.
  int64_t size = rt::sizeInBytes(view.dtype);
  std::vector<char> packed(array.spanBytes());
  rt::Device::get().copyToHost(packed.data(), array.view.address, packed.size());
  const char *next = packed.data();
  forEachOffset(view, [&](int64_t offset) {
    std::memcpy(data + offset * size, next, size);
    next += size;
  });
}

nb::tuple dlpackDevice(const Array &) {
  auto [type, id] = ownDevice();
  return nb::make_tuple(type, id);
}

nb::object toDlpack(const Array &array, nb::object stream, nb::object maxVersion, nb::object device,
                    nb::object copy) {
  auto own = ownDevice();
  auto wanted = own;
  if (!device.is_none())
    wanted = {nb::cast<int>(device[0]), nb::cast<int>(device[1])};
  bool toHost = wanted.first == HostMemory;
  if (!toHost && wanted != own)
    bufferError(
        "the array can be exported to its own device and to the host, not to DLPack device (" +
        std::to_string(wanted.first) + ", " + std::to_string(wanted.second) + ")");
  bool mustShare = !copy.is_none() && !nb::cast<bool>(copy);
  if (toHost && mustShare)
    bufferError("memory of the device cannot be shared with the host; copy=False asks for that");
  bool mustCopy = !copy.is_none() && !mustShare;

  // The consumer's stream need not wait for ours once ours is idle. -1 asks for no synchronisation.
  if (toHost || stream.is_none() || nb::cast<int64_t>(stream) != -1)
    synchronize();

  rt::Device &runtime = rt::Device::get();
  auto content = std::make_unique<Export>();
  content->shape = array.view.shape;
  content->strides = array.view.strides;
  Tensor tensor = {};
  tensor.deviceType = wanted.first;
  tensor.deviceId = wanted.second;
  tensor.rank = array.view.shape.size();
  for (const TypeEntry &type : types)
    if (type.dtype == array.view.dtype) {
      tensor.code = type.code;
      tensor.bits = type.bits;
      tensor.lanes = 1;
    }
  if (tensor.lanes == 0)
    bufferError(std::string("DLPack has no type for ") + rt::name(array.view.dtype));

  uint64_t flags = array.readOnly ? ReadOnly : 0;
  size_t bytes = array.spanBytes(), first = array.view.address - array.lowestAddress();
  if (toHost) {
    content->host.resize(std::max<size_t>(bytes, 1));
    nb::gil_scoped_release released;
    runtime.copyToHost(content->host.data(), array.lowestAddress(), bytes);
    tensor.data = content->host.data() + first;
    flags = IsCopied;
    // Writing to a copy that the consumer did not ask for would be lost without a word.
    if (!mustCopy && own.first == HostMemory)
      flags |= ReadOnly;
  } else if (mustCopy) {
    content->memory = Memory::allocate(bytes);
    nb::gil_scoped_release released;
    runtime.copyOnDevice(content->memory->address(), array.lowestAddress(), bytes);
    tensor.data = reinterpret_cast<void *>(content->memory->address() + first);
    flags = IsCopied;
  } else {
    content->memory = array.memory;
    tensor.data = reinterpret_cast<void *>(array.view.address);
  }
  bool versioned = !maxVersion.is_none() && nb::cast<int>(maxVersion[0]) >= 1;
  return versioned ? exportCapsule<ManagedVersioned>(std::move(content), tensor, flags)
                   : exportCapsule<Managed>(std::move(content), tensor, flags);
}

} // namespace girih::python
