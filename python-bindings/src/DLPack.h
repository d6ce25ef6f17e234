//===- DLPack.h - Arrays from and to other libraries
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Python side of the protocol is the array API standard's `__dlpack__` and `__dlpack_device__`;
// the structures in the capsules are those of the DLPack specification, version 1, and the older
// ones without a version.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_DLPACK_H
#define GIRIH_PYTHON_DLPACK_H

#include "Array.h"

#include <optional>

namespace girih::python {

/// Takes over the array in a capsule. GPU memory is shared until the last view is gone; host memory
/// is copied to the device, into the same order of dimensions where it is dense, else row-major.
/// Raises BufferError or TypeError with one sentence for what cannot be taken.
Array fromDlpack(nb::handle capsule);

/// An array that shares a GPU's memory, and the stream on which its library works now.
struct Exchanged {
  Array array;
  uintptr_t stream = 0;
};

/// The array of an object whose type has DLPack's table of C functions (version 1.3), without a
/// capsule and without synchronisation. Nothing for types without one and for host memory.
std::optional<Exchanged> fromExchange(nb::handle object);

/// Whether the array in a capsule may not be written.
bool isReadOnly(nb::handle capsule);

/// (dtype name, shape, strides in elements, address) of the array that fromDlpack would make of a
/// capsule; address 0 stands for memory that it would allocate.
nb::tuple describeDlpack(nb::handle capsule);

/// Copies a device array over the host tensor in a capsule, which has the same dtype and shape.
void writeBack(const Array &array, nb::handle capsule);

/// The (device type, device id) pair of `__dlpack_device__`.
nb::tuple dlpackDevice(const Array &array);

/// `__dlpack__` of the array API standard.
nb::object toDlpack(const Array &array, nb::object stream, nb::object maxVersion, nb::object device,
                    nb::object copy);

} // namespace girih::python

#endif // GIRIH_PYTHON_DLPACK_H
