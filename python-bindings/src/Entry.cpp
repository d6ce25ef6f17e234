// Python adds a frame for every Python function that an exception leaves, and none for a C++ one.
// So what stands between the user's call and our Python code is C++, and drops the frames inside.
//
// The types are CPython's own rather than nanobind's: a call reaches them without a tuple of its
// arguments.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Entry.h"

#include "Errors.h"
#include "Graph.h"
#include "Recipe.h"

#include <structmember.h>

#include <algorithm>
#include <deque>
#include <mutex>

namespace girih::python {
namespace {

/// More signatures than a program uses at a time; the one that was used least recently goes.
constexpr size_t mostRecipes = 32;

/// What a kernel knows about its calls.
struct State {
  Binder binder;
  bool bindsFast = false;                            ///< the binder has been set
  bool usesRecipes = true;                           ///< false: every call goes through Python
  std::deque<std::shared_ptr<const Recipe>> recipes; ///< the most recently used one first
};

struct EntryObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  State *state;
};

struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *entry;
  struct Prepared *prepared;
};

/// A call whose arguments are set.
struct Prepared {
  Prepared(std::shared_ptr<const Recipe> recipe, LaunchOptions options)
      : recipe(std::move(recipe)), options(options), call(this->recipe->program()) {}

  std::shared_ptr<const Recipe> recipe;
  LaunchOptions options;
  rt::Call call;
  std::vector<nb::object> arrays; ///< of the arguments
  std::mutex launching;
};

PyTypeObject *launcherType = nullptr;

PyObject *launcherCall(PyObject *self, PyObject *const *arguments, size_t flags,
                       PyObject *keywords);

State &stateOf(PyObject *self) { return *reinterpret_cast<EntryObject *>(self)->state; }

/// The recipe for arguments, moved to the front; null if Python must look at them.
std::shared_ptr<const Recipe> findRecipe(State &state, PyObject **bound, Adopter &adopter) {
  auto &recipes = state.recipes;
  for (size_t i = 0; i < recipes.size(); ++i) {
    // Adopting an array may run Python code, and other threads then change the list.
    std::shared_ptr<const Recipe> recipe = recipes[i];
    if (!recipe->matches(bound, adopter))
      continue;
    bool isCurrent = recipe->isCurrent();
    if (isCurrent && !recipes.empty() && recipes.front() == recipe)
      return recipe;
    recipes.erase(std::remove(recipes.begin(), recipes.end(), recipe), recipes.end());
    if (!isCurrent)
      return nullptr;
    recipes.push_front(recipe);
    return recipe;
  }
  return nullptr;
}

/// Arguments as Python's calling convention for tuples has them.
std::pair<nb::object, nb::object> packed(PyObject *const *arguments, size_t count,
                                         PyObject *keywords, GivenOptions *options) {
  nb::object args = nb::steal(PyTuple_New(count));
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(args.ptr(), i, Py_NewRef(arguments[i]));
  nb::dict kwargs;
  size_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (size_t k = 0; k < named; ++k) {
    PyObject *name = PyTuple_GET_ITEM(keywords, k);
    if (!options || !options->take(name, arguments[count + k]))
      kwargs[nb::handle(name)] = nb::handle(arguments[count + k]);
  }
  return {args, kwargs};
}

/// Calls a method; girih's own errors lose the frames, cause and context that lie inside it.
nb::object callWithoutFrames(nb::handle self, const char *method, nb::handle args,
                             nb::handle kwargs) {
  nb::object result =
      nb::steal(PyObject_Call(nb::object(self.attr(method)).ptr(), args.ptr(), kwargs.ptr()));
  if (result.is_valid())
    return result;
  nb::python_error error;
  nb::object ours = nb::module_::import_("girih.errors").attr("GirihError");
  if (!error.matches(ours))
    throw error;
  nb::object value = nb::borrow(error.value());
  PyException_SetTraceback(value.ptr(), Py_None);
  PyException_SetCause(value.ptr(), nullptr);
  PyException_SetContext(value.ptr(), nullptr);
  PyErr_SetObject(value.type().ptr(), value.ptr());
  throw nb::python_error();
}

/// Calls `_launch` or `_prepare` with the options first.
nb::object callWithOptions(PyObject *self, const char *method, PyObject *const *arguments,
                           size_t count, PyObject *keywords, bool takesOptions) {
  GivenOptions given;
  auto [args, kwargs] = packed(arguments, count, keywords, takesOptions ? &given : nullptr);
  nb::object options = nb::make_tuple(given.ctas ? nb::handle(given.ctas) : nb::none(),
                                      given.stream ? nb::handle(given.stream) : nb::none());
  nb::object all = nb::steal(PySequence_Concat(options.ptr(), args.ptr()));
  return callWithoutFrames(self, method, all, kwargs);
}

PyObject *launch(PyObject *self, PyObject *const *arguments, size_t count, PyObject *keywords,
                 bool takesOptions) {
  return guarded([&]() -> PyObject * {
    State &state = stateOf(self);
    PyObject *bound[Binder::most];
    GivenOptions given;
    if (state.bindsFast && state.usesRecipes &&
        state.binder.bind(arguments, count, keywords, bound, takesOptions ? &given : nullptr)) {
      LaunchOptions options(given);
      Adopter adopter(options, captureStream() || (given.stream && given.stream != Py_None));
      if (std::shared_ptr<const Recipe> recipe = findRecipe(state, bound, adopter)) {
        rt::Program &program = recipe->program();
        std::unique_ptr<rt::Call> call = program.borrow();
        recipe->set(*call, bound);
        launchCall(*call, options);
        if (captureStream())
          recipe->keep(bound);
        program.giveBack(std::move(call));
        Py_RETURN_NONE;
      }
    }
    return callWithOptions(self, "_launch", arguments, count, keywords, takesOptions)
        .release()
        .ptr();
  });
}

// ---- Entry --------------------------------------------------------------------------------------

PyObject *entryCall(PyObject *self, PyObject *const *arguments, size_t count, PyObject *keywords) {
  return launch(self, arguments, PyVectorcall_NARGS(count), keywords, /*takesOptions=*/false);
}

PyObject *entryLaunch(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *keywords) {
  return launch(self, arguments, count, keywords, /*takesOptions=*/true);
}

PyObject *entryPrepare(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *keywords) {
  return guarded([&]() -> PyObject * {
    // Compiles where that is needed, refuses what cannot be prepared, and leaves a recipe.
    callWithOptions(self, "_prepare", arguments, count, keywords, /*takesOptions=*/true);
    State &state = stateOf(self);
    PyObject *bound[Binder::most];
    GivenOptions given;
    bool isBound = state.bindsFast && state.binder.bind(arguments, count, keywords, bound, &given);
    LaunchOptions options(given);
    Adopter adopter(options, captureStream() || (given.stream && given.stream != Py_None));
    std::shared_ptr<const Recipe> recipe = isBound ? findRecipe(state, bound, adopter) : nullptr;
    if (!recipe)
      throw rt::LaunchError("the arguments cannot be prepared: call the kernel instead");
    auto prepared = std::make_unique<Prepared>(recipe, options);
    recipe->set(prepared->call, bound);
    recipe->collectArrays(bound, prepared->arrays);
    PyObject *launcher = PyType_GenericAlloc(launcherType, 0);
    if (!launcher)
      nb::raise_python_error();
    auto *object = reinterpret_cast<LauncherObject *>(launcher);
    object->vectorcall = launcherCall;
    object->entry = Py_NewRef(self);
    object->prepared = prepared.release();
    return launcher;
  });
}

template <const char *const &method>
PyObject *entryMethod(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *keywords) {
  return guarded([&] {
    auto [args, kwargs] = packed(arguments, count, keywords, nullptr);
    return callWithoutFrames(self, method, args, kwargs).release().ptr();
  });
}
constexpr const char *compileMethod = "_compile", *inspectMethod = "_inspect",
                     *emitMethod = "_emit";

PyObject *entrySetParameters(PyObject *self, PyObject *args) {
  return guarded([&]() -> PyObject * {
    nb::handle arguments(args);
    State &state = stateOf(self);
    nb::sequence names = nb::borrow<nb::sequence>(arguments[0]);
    if (nb::len(names) <= Binder::most) {
      state.binder = Binder(names, nb::cast<size_t>(arguments[1]),
                            nb::borrow<nb::sequence>(arguments[2]), nb::object(arguments[3]));
      state.bindsFast = true;
    }
    Py_RETURN_NONE;
  });
}

PyObject *entryRemember(PyObject *self, PyObject *args) {
  return guarded([&]() -> PyObject * {
    nb::handle arguments(args);
    State &state = stateOf(self);
    // A program has one signature.
    for (auto it = state.recipes.begin(); it != state.recipes.end(); ++it)
      if ((*it)->programObject().is(arguments[0])) {
        state.recipes.erase(it);
        break;
      }
    state.recipes.push_front(std::make_shared<const Recipe>(
        nb::object(arguments[0]), nb::borrow<nb::sequence>(arguments[1]),
        nb::borrow<nb::sequence>(arguments[2])));
    if (state.recipes.size() > mostRecipes)
      state.recipes.pop_back();
    Py_RETURN_NONE;
  });
}

PyObject *entryUseRecipes(PyObject *self, PyObject *use) {
  stateOf(self).usesRecipes = PyObject_IsTrue(use) == 1;
  Py_RETURN_NONE;
}

/// Before Python 3.12 a class in Python does not inherit the way to be called without a tuple.
PyObject *entryInitSubclass(PyObject *type, PyObject *) {
  reinterpret_cast<PyTypeObject *>(type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  Py_RETURN_NONE;
}

PyObject *entryNew(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *self = type->tp_alloc(type, 0);
  if (!self)
    return nullptr;
  auto *entry = reinterpret_cast<EntryObject *>(self);
  entry->vectorcall = entryCall;
  entry->state = new State;
  return self;
}

int entryTraverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  State *state = reinterpret_cast<EntryObject *>(self)->state;
  if (!state)
    return 0;
  if (int stop = state->binder.traverse(visit, arg))
    return stop;
  for (const std::shared_ptr<const Recipe> &recipe : state->recipes)
    // What others hold, too (a launch, a bound launcher) is reached through them.
    if (recipe.use_count() == 1)
      if (int stop = recipe->traverse(visit, arg))
        return stop;
  return 0;
}

int entryClear(PyObject *self) {
  if (State *state = reinterpret_cast<EntryObject *>(self)->state) {
    auto recipes = std::move(state->recipes);
    state->recipes.clear();
  }
  return 0;
}

void entryDealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<EntryObject *>(self)->state;
  type->tp_free(self);
  Py_DECREF(type);
}

template <typename Function> PyCFunction asFunction(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef entryMethods[] = {
    {"launch", asFunction(entryLaunch), METH_FASTCALL | METH_KEYWORDS,
     "Runs the kernel as a call does, with options: stream (a number or an object that knows one) "
     "and ctas, the number of CTAs of a persistent kernel."},
    {"prepare", asFunction(entryPrepare), METH_FASTCALL | METH_KEYWORDS,
     "A launcher with these arguments and options bound, for arrays on the device: called without "
     "arguments it launches again, with arguments of the same signature they replace the bound "
     "ones."},
    {"compile", asFunction(entryMethod<compileMethod>), METH_FASTCALL | METH_KEYWORDS,
     "Compiles for a call with these arguments; returns the program."},
    {"inspect", asFunction(entryMethod<inspectMethod>), METH_FASTCALL | METH_KEYWORDS,
     "Every stage of the compilation for a call with these arguments, by name."},
    {"emit", asFunction(entryMethod<emitMethod>), METH_FASTCALL | METH_KEYWORDS,
     "The MLIR text that a call with these arguments compiles."},
    {"_set_parameters", entrySetParameters, METH_VARARGS,
     "Names, how many of them may be positional, defaults, and what stands for no default."},
    {"_remember", entryRemember, METH_VARARGS,
     "A program, what each argument must be (Recipe.h) and the outer names it depends on."},
    {"_use_recipes", entryUseRecipes, METH_O,
     "Whether calls may be made by recipes, or all go through `_launch`."},
    {"__init_subclass__", entryInitSubclass, METH_CLASS | METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef entryMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(EntryObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot entrySlots[] = {
    {Py_tp_doc,
     const_cast<char *>("What a kernel is called through: a call with a signature that it "
                        "knows runs no Python code; errors show the user's frames only.")},
    {Py_tp_new, reinterpret_cast<void *>(entryNew)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_methods, entryMethods},
    {Py_tp_members, entryMembers},
    {Py_tp_traverse, reinterpret_cast<void *>(entryTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(entryClear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(entryDealloc)},
    {0, nullptr}};

PyType_Spec entrySpec = {"girih._runtime.Entry", sizeof(EntryObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                             Py_TPFLAGS_HAVE_VECTORCALL,
                         entrySlots};

// ---- Launcher -----------------------------------------------------------------------------------

PyObject *launcherCall(PyObject *self, PyObject *const *arguments, size_t flags,
                       PyObject *keywords) {
  return guarded([&]() -> PyObject * {
    auto *launcher = reinterpret_cast<LauncherObject *>(self);
    Prepared &prepared = *launcher->prepared;
    size_t count = PyVectorcall_NARGS(flags);
    std::unique_lock<std::mutex> lock(prepared.launching, std::try_to_lock);
    if (!lock) {
      nb::gil_scoped_release released;
      lock.lock();
    }
    if (count > 0 || keywords) {
      PyObject *bound[Binder::most];
      Adopter adopter(prepared.options, /*streamIsGiven=*/true);
      if (!stateOf(launcher->entry).binder.bind(arguments, count, keywords, bound, nullptr) ||
          !prepared.recipe->matches(bound, adopter))
        throw rt::LaunchError(
            prepared.recipe->program().manifest().name +
            ": these arguments have another signature than those that were prepared (dtypes, "
            "ranks, "
            "which stride is 1, alignment, constants); prepare them, or call the kernel");
      prepared.recipe->set(prepared.call, bound);
      prepared.arrays.clear(); // keeps its room
      prepared.recipe->collectArrays(bound, prepared.arrays);
    }
    LaunchOptions options = prepared.options;
    if (captureStream()) {
      options.stream = captureStream();
      keepForGraph(prepared.recipe->programObject());
      for (const nb::object &array : prepared.arrays)
        keepForGraph(array);
    }
    launchCall(prepared.call, options);
    Py_RETURN_NONE;
  });
}

int launcherTraverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<LauncherObject *>(self)->entry);
  return 0;
}

int launcherClear(PyObject *self) {
  Py_CLEAR(reinterpret_cast<LauncherObject *>(self)->entry);
  return 0;
}

void launcherDealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  launcherClear(self);
  delete reinterpret_cast<LauncherObject *>(self)->prepared;
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef launcherMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot launcherSlots[] = {
    {Py_tp_doc, const_cast<char *>("A kernel with arguments bound, which kernel.prepare() makes. "
                                   "Called without arguments it launches again; arguments of the "
                                   "same signature replace the bound ones.")},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_members, launcherMembers},
    {Py_tp_traverse, reinterpret_cast<void *>(launcherTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(launcherClear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(launcherDealloc)},
    {0, nullptr}};

PyType_Spec launcherSpec = {"girih._runtime.Launcher", sizeof(LauncherObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                            launcherSlots};

} // namespace

void bindEntry(nb::module_ &module) {
  nb::object entry = nb::steal(PyType_FromSpec(&entrySpec));
  nb::object launcher = nb::steal(PyType_FromSpec(&launcherSpec));
  if (!entry.is_valid() || !launcher.is_valid())
    nb::raise_python_error();
  module.attr("Entry") = entry;
  module.attr("Launcher") = launcher;
  launcherType = reinterpret_cast<PyTypeObject *>(launcher.release().ptr());
}

} // namespace girih::python
