// Numbers of a kernel that is run on paper: known ones, and linear forms over things that only a
// launch knows. Equal expressions are one form wherever they stand, so two roles that loop to the
// same bound are known to loop equally often.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_SYMBOLS_H
#define GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_SYMBOLS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace girih::wg::check {

/// `constant` plus a form. Negative forms are values that differ between the lanes of a warp.
struct Number {
  int64_t constant = 0;
  int32_t form = 0; ///< 0: none, the number is known

  static constexpr int32_t kElected = -1;   ///< 1 in the elected lane, 0 in the others
  static constexpr int32_t kOthers = -2;    ///< the opposite
  static constexpr int32_t kLane = -3;      ///< `constant` plus the lane's index
  static constexpr int32_t kDivergent = -4; ///< anything else that differs

  bool known() const { return form == 0; }
  bool varies() const { return form < 0; }
  friend bool operator==(const Number &, const Number &) = default;
};

/// Integer operations that are followed.
enum class Arith : uint8_t {
  Add,
  Sub,
  Mul,
  DivS,
  DivU,
  CeilDivS,
  CeilDivU,
  FloorDivS,
  RemS,
  RemU,
  MinS,
  MinU,
  MaxS,
  MaxU,
  And,
  Or,
  Xor,
  Not,
  Shl,
  ShrU,
  ShrS,
  Equal,
  LessS,
  LessU,
  Select,
  Opaque,
};

/// What a form may be chosen from.
struct Domain {
  enum class Kind { Count, Flag };
  Kind kind;
  /// Of a Count: the largest number of steps worth trying, the number tried first, and what one
  /// step adds to the form.
  int64_t largest = 1, first = 1, scale = 1;
  mlir::Operation *asks = nullptr; ///< the loop or branch
  int64_t least = 0;               ///< the form is known to be no less
};

/// Gives a value to a form that nothing determines.
class Chooser {
public:
  virtual ~Chooser() = default;
  virtual int64_t choose(int32_t form, const Domain &domain) = 0;
};

/// The table of forms of one kernel, and what they are taken to be in the present run.
class Symbols {
public:
  Symbols();

  static Number known(int64_t value) { return {value, 0}; }
  /// a op b (for Select: a ? b : c). `flag`: operands of one bit.
  Number apply(Arith op, Number a, Number b = {}, Number c = {}, bool flag = false);
  /// The result of something that is not followed: equal keys and operands, equal results.
  Number opaque(int32_t key, llvm::ArrayRef<Number> operands);
  /// Says that a number that is not followed is at least `least`.
  void bound(Number number, int64_t least);
  /// A key for `opaque`.
  int32_t keyOf(llvm::StringRef text);

  /// The value, as far as the present run knows.
  std::optional<int64_t> evaluate(Number number);
  /// The value; what is not determined yet is chosen.
  int64_t decide(Number number, const Domain &domain, Chooser &chooser);
  /// How often a loop from `low` to `high` by `step` runs, and by how much it steps.
  int64_t decideCount(Number low, Number high, Number step, Domain domain, Chooser &chooser);

  /// Forgets the values of the last run.
  void startRun();
  /// Whose questions the following ones are: a bit for each role.
  void setRole(unsigned role) { asking = 1U << role; }
  /// Roles that have asked for a form, in any run.
  uint32_t rolesOf(int32_t form) const { return forms[form].roles; }
  /// The value that the present run gave to a form.
  std::optional<int64_t> valueOf(int32_t form) const { return forms[form].value; }

private:
  struct Form {
    llvm::SmallVector<std::pair<int32_t, int64_t>, 2> terms; ///< atoms and coefficients, sorted
    std::optional<int64_t> value;
    uint32_t roles = 0;
    /// Of a form that has counted the steps of a loop: from what it was chosen.
    std::optional<Domain> counted;
  };
  struct Atom {
    Arith op;
    int32_t key = 0; ///< of an Opaque
    llvm::SmallVector<Number, 3> operands;
    bool flag = false;
    std::optional<int64_t> least = {};
  };

  Number fromTerms(int64_t constant, llvm::ArrayRef<std::pair<int32_t, int64_t>> terms);
  Number atom(Arith op, llvm::ArrayRef<Number> operands, int32_t key, bool flag);
  Number combine(Number a, Number b, int64_t factor);
  Number scaled(Number a, int64_t factor);
  Number varying(Arith op, Number a, Number b, Number c);
  std::optional<int64_t> evaluateAtom(const Atom &atom);
  std::optional<int64_t> leastOf(Number number) const;
  std::optional<int64_t> leastOfAtom(const Atom &atom) const;
  int64_t decideAtom(int32_t index, const Domain &domain, Chooser &chooser);
  int64_t decideForm(Number form, const Domain &domain, Chooser &chooser);

  std::vector<Form> forms;
  std::vector<Atom> atoms;
  llvm::StringMap<int32_t> formIds, atomIds, keys;
  uint32_t asking = 0;
};

} // namespace girih::wg::check

#endif // GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_SYMBOLS_H
