//===- Recipe.h - How the arguments of one signature reach the driver
//----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's first call with a signature goes through Python: it binds, describes, compiles. What
// it found out is kept as a recipe, by which the next call with such arguments is recognised and
// made without Python code and without an allocation.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_RECIPE_H
#define GIRIH_PYTHON_RECIPE_H

#include "girih/Runtime/Program.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

namespace girih::python {

namespace nb = nanobind;
namespace rt = girih::runtime;

/// Options of a launch that are no arguments of the kernel, as the caller gave them: borrowed, null
/// if not given.
struct GivenOptions {
  PyObject *ctas = nullptr, *stream = nullptr;

  /// Takes a keyword if it is one of them.
  bool take(PyObject *name, PyObject *value);
};

/// The same, understood.
struct LaunchOptions {
  int64_t ctas = 0; ///< 0: one per multiprocessor
  uintptr_t stream = 0;

  LaunchOptions() = default;
  /// A stream is a number or an object that knows one: `__cuda_stream__`, `cuda_stream` (torch),
  /// `ptr` (CuPy). Throws LaunchError.
  explicit LaunchOptions(const GivenOptions &given);
};

/// The names, order and defaults of a kernel's parameters.
class Binder {
public:
  static constexpr size_t most = 64; ///< parameters

  /// `positional`: how many of them may come without a name. A default of `none` is none at all.
  Binder(nb::sequence names, size_t positional, nb::sequence defaults, nb::handle none);
  Binder() = default;

  size_t size() const { return names.size(); }
  /// One argument for each parameter, borrowed; keywords that are options of a launch go to
  /// `options`, unless it is null. False where Python's rules need a closer look: an argument that
  /// is missing, given twice or unknown.
  bool bind(PyObject *const *arguments, size_t count, PyObject *keywords, PyObject **bound,
            GivenOptions *options) const;
  int traverse(visitproc visit, void *arg) const;

private:
  std::vector<nb::object> names, defaults; ///< a null object: no default
  size_t positional = 0;
};

/// A value that shapes the code, and whether another object stands for the same.
class Constant {
public:
  explicit Constant(nb::object value);
  bool matches(PyObject *other) const;
  int traverse(visitproc visit, void *arg) const;

private:
  nb::object value;
  std::vector<Constant> items; ///< of a tuple
  // What a plain function's meaning depends on: its code, the contents of its closure, defaults.
  nb::object code, defaults;
  std::vector<nb::object> contents;
};

/// An outer name that the program was compiled for: it still stands for the same object.
struct Guard {
  nb::object container; ///< a dict, or a cell of a closure
  nb::object name;      ///< in the dict
  nb::object value;

  bool holds() const;
};

/// Makes arrays of girih's own of those of other libraries on the GPU while a call is made.
class Adopter {
public:
  /// A stream that the caller names counts; else the one that the first library works on is taken.
  explicit Adopter(LaunchOptions &options, bool streamIsGiven)
      : options(options), streamIsGiven(streamIsGiven) {}

  /// Null for what is no such array, is on the host or cannot be taken: Python looks at that.
  PyObject *adopt(PyObject *object);

private:
  nb::object take(PyObject *object);
  nb::object takeCapsule(PyObject *object);
  void findStream(PyObject *object);

  LaunchOptions &options;
  bool streamIsGiven;
  std::vector<nb::object> adopted;
};

class Recipe {
public:
  /// `kinds` has one entry per parameter: ("array", dtype, rank, contiguous, aligned), ("scalar",)
  /// or
  /// ("constant", value); `guards` are (container, name, value).
  Recipe(nb::object program, nb::sequence kinds, nb::sequence guards);

  /// Whether arguments have this signature; those that are adopted are replaced.
  bool matches(PyObject **bound, Adopter &adopter) const;
  /// Whether outer names stand for what they stood for.
  bool isCurrent() const;
  /// Sets the arguments of a call. Throws LaunchError.
  void set(rt::Call &call, PyObject *const *bound) const;
  /// The arguments that are arrays, which have to live as long as a call uses them.
  void collectArrays(PyObject *const *bound, std::vector<nb::object> &arrays) const;

  /// Keeps what a captured launch uses.
  void keep(PyObject *const *bound) const;

  rt::Program &program() const { return *native; }
  const nb::object &programObject() const { return owner; }
  int traverse(visitproc visit, void *arg) const;

private:
  enum class Kind { Array, Scalar, Constant };
  struct Argument {
    Kind kind = Kind::Constant;
    unsigned parameter = 0; ///< of the program
    rt::DType dtype = rt::DType::F32;
    size_t rank = 0;
    int contiguous = -1;
    bool aligned = false;
    bool written = false;
    std::optional<Constant> constant;
  };

  nb::object owner;
  rt::Program *native;
  std::vector<Argument> arguments;
  std::vector<Guard> guards;
};

/// Launches without the GIL, for Python to raise what comes of it.
void launchCall(rt::Call &call, const LaunchOptions &options);

} // namespace girih::python

#endif // GIRIH_PYTHON_RECIPE_H
