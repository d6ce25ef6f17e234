// Numbers on paper; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Symbols.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace girih::wg::check {

namespace {

/// a op b on known numbers; nothing where it is not defined.
std::optional<int64_t> fold(Arith op, int64_t a, int64_t b, int64_t c, bool flag) {
  auto u = [](int64_t x) { return static_cast<int64_t>(static_cast<uint32_t>(x)); };
  switch (op) {
  case Arith::Add:
    return a + b;
  case Arith::Sub:
    return a - b;
  case Arith::Mul:
    return a * b;
  case Arith::MinS:
    return std::min(a, b);
  case Arith::MaxS:
    return std::max(a, b);
  case Arith::MinU:
    return u(a) < u(b) ? a : b;
  case Arith::MaxU:
    return u(a) > u(b) ? a : b;
  case Arith::And:
    return a & b;
  case Arith::Or:
    return a | b;
  case Arith::Xor:
    return flag ? (a ^ b) & 1 : a ^ b;
  case Arith::Not:
    return 1 - (a & 1);
  case Arith::Shl:
    return b < 0 || b > 31 ? 0 : a << b;
  case Arith::ShrU:
    return b < 0 || b > 31 ? 0 : u(a) >> b;
  case Arith::ShrS:
    return a >> std::clamp<int64_t>(b, 0, 63);
  case Arith::Equal:
    return a == b;
  case Arith::LessS:
    return a < b;
  case Arith::LessU:
    return u(a) < u(b);
  case Arith::Select:
    return (a & 1) ? b : c;
  case Arith::Opaque:
    return std::nullopt;
  default:
    break;
  }
  if (b == 0)
    return std::nullopt;
  switch (op) {
  case Arith::DivS:
    return a / b;
  case Arith::RemS:
    return a % b;
  case Arith::DivU:
    return u(a) / u(b);
  case Arith::RemU:
    return u(a) % u(b);
  case Arith::CeilDivU:
    return (u(a) + u(b) - 1) / u(b);
  case Arith::CeilDivS:
    return llvm::divideCeilSigned(a, b);
  case Arith::FloorDivS:
    return llvm::divideFloorSigned(a, b);
  default:
    return std::nullopt;
  }
}

template <typename T> void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

} // namespace

Symbols::Symbols() { forms.emplace_back(); }

int32_t Symbols::keyOf(llvm::StringRef text) {
  return keys.try_emplace(text, static_cast<int32_t>(keys.size())).first->second;
}

Number Symbols::fromTerms(int64_t constant, llvm::ArrayRef<std::pair<int32_t, int64_t>> terms) {
  if (terms.empty())
    return known(constant);
  std::string bytes;
  for (auto [index, factor] : terms) {
    append(bytes, index);
    append(bytes, factor);
  }
  auto [entry, isNew] = formIds.try_emplace(bytes, static_cast<int32_t>(forms.size()));
  if (isNew) {
    Form form;
    form.terms.assign(terms.begin(), terms.end());
    forms.push_back(std::move(form));
  }
  return {constant, entry->second};
}

Number Symbols::atom(Arith op, llvm::ArrayRef<Number> operands, int32_t key, bool flag) {
  std::string bytes;
  append(bytes, op);
  append(bytes, key);
  append(bytes, flag);
  for (const Number &operand : operands) {
    append(bytes, operand.constant);
    append(bytes, operand.form);
  }
  auto [entry, isNew] = atomIds.try_emplace(bytes, static_cast<int32_t>(atoms.size()));
  if (isNew)
    atoms.push_back({op, key, llvm::SmallVector<Number, 3>(operands), flag, {}});
  return fromTerms(0, {{entry->second, 1}});
}

/// a + factor * b.
Number Symbols::combine(Number a, Number b, int64_t factor) {
  llvm::SmallVector<std::pair<int32_t, int64_t>, 4> sum(forms[a.form].terms.begin(),
                                                        forms[a.form].terms.end());
  for (auto [index, coefficient] : forms[b.form].terms) {
    auto *place = llvm::find_if(sum, [&, i = index](auto &term) { return term.first == i; });
    if (place == sum.end())
      sum.push_back({index, factor * coefficient});
    else
      place->second += factor * coefficient;
  }
  llvm::erase_if(sum, [](auto &term) { return term.second == 0; });
  llvm::sort(sum);
  return fromTerms(a.constant + factor * b.constant, sum);
}

Number Symbols::scaled(Number a, int64_t factor) { return combine(known(0), a, factor); }

/// Of operands that differ between lanes: which lanes are elected, and an index of lanes compared
/// with a known number.
Number Symbols::varying(Arith op, Number a, Number b, Number c) {
  constexpr int32_t elected = Number::kElected, others = Number::kOthers;
  auto mask = [](Number n) -> std::optional<int> {
    if (n.known())
      return n.constant & 1 ? 3 : 0;
    if (n.form == elected)
      return 1;
    return n.form == others ? std::optional(2) : std::nullopt;
  };
  auto ofMask = [](int bits) -> Number {
    return bits == 0 || bits == 3 ? known(bits == 3) : Number{0, bits == 1 ? elected : others};
  };
  auto compare = [&](int64_t below) { // lane < below
    return below <= 0    ? known(0)
           : below >= 32 ? known(1)
                         : Number{0, below == 1 ? elected : Number::kDivergent};
  };
  std::optional<int> left = mask(a), right = mask(b);
  switch (op) {
  case Arith::And:
    if (left && right)
      return ofMask(*left & *right);
    if (a.form == Number::kLane && a.constant % 32 == 0 && b == known(31))
      return {0, Number::kLane};
    break;
  case Arith::Or:
    if (left && right)
      return ofMask(*left | *right);
    break;
  case Arith::Xor:
    if (left && right)
      return ofMask(*left ^ *right);
    break;
  case Arith::Not:
    if (left)
      return ofMask(3 - *left);
    break;
  case Arith::Add:
    if (a.form == Number::kLane && b.known())
      return {a.constant + b.constant, a.form};
    break;
  case Arith::ShrU:
    if (a.form == Number::kLane && a.constant % 32 == 0 && b.known() && b.constant >= 5)
      return known(a.constant >> b.constant);
    break;
  case Arith::DivU:
  case Arith::DivS:
    if (a.form == Number::kLane && a.constant % 32 == 0 && b.known() && b.constant % 32 == 0 &&
        b.constant > 0)
      return known(a.constant / b.constant);
    break;
  case Arith::Equal:
    if (a.form == Number::kLane && b.known()) {
      int64_t lane = b.constant - a.constant;
      if (lane < 0 || lane > 31)
        return known(0);
      if (lane == 0)
        return {0, elected};
    }
    break;
  case Arith::LessS:
  case Arith::LessU:
    if (a.form == Number::kLane && b.known())
      return compare(b.constant - a.constant);
    break;
  case Arith::Select:
    if (left && b == c)
      return b;
    break;
  default:
    break;
  }
  return {0, Number::kDivergent};
}

Number Symbols::apply(Arith op, Number a, Number b, Number c, bool flag) {
  if (a.known() && b.known() && c.known()) {
    if (std::optional<int64_t> value = fold(op, a.constant, b.constant, c.constant, flag))
      return known(*value);
    return opaque(keyOf("undefined"), {});
  }
  if (op == Arith::Select && a.known())
    return a.constant & 1 ? b : c;
  if (a.varies() || b.varies() || c.varies())
    return varying(op, a, b, c);
  switch (op) {
  case Arith::Add:
    return combine(a, b, 1);
  case Arith::Sub:
    return combine(a, b, -1);
  case Arith::Mul:
    if (a.known())
      std::swap(a, b);
    if (b.known())
      return scaled(a, b.constant);
    if (b.form < a.form)
      std::swap(a, b);
    break;
  case Arith::Shl:
    if (b.known() && b.constant >= 0 && b.constant < 32)
      return scaled(a, int64_t(1) << b.constant);
    break;
  case Arith::Not:
    return combine(known(1), a, -1);
  case Arith::Xor:
    if (flag && b == known(1))
      return combine(known(1), a, -1);
    if (flag && b == known(0))
      return a;
    break;
  case Arith::And:
    if (flag && (a == known(0) || b == known(0)))
      return known(0);
    if (flag && (a == known(1) || b == known(1)))
      return a.known() ? b : a;
    break;
  case Arith::Or:
    if (flag && (a == known(1) || b == known(1)))
      return known(1);
    if (flag && (a == known(0) || b == known(0)))
      return a.known() ? b : a;
    break;
  case Arith::Equal:
  case Arith::LessS: {
    // Only the difference counts.
    Number difference = combine(a, b, -1);
    if (difference.known())
      return known(op == Arith::Equal ? difference.constant == 0 : difference.constant < 0);
    if (std::optional<int64_t> least = leastOf(difference);
        least && *least >= (op == Arith::Equal ? 1 : 0))
      return known(0);
    return atom(op, {difference, known(0)}, 0, false);
  }
  case Arith::MinS:
  case Arith::MaxS:
  case Arith::MinU:
  case Arith::MaxU:
    if (a == b)
      return a;
    break;
  default:
    break;
  }
  if (op == Arith::Select)
    return atom(op, {a, b, c}, 0, flag);
  return atom(op, {a, b}, 0, flag);
}

Number Symbols::opaque(int32_t key, llvm::ArrayRef<Number> operands) {
  for (const Number &operand : operands)
    if (operand.varies())
      return {0, Number::kDivergent};
  return atom(Arith::Opaque, operands, key, false);
}

void Symbols::bound(Number number, int64_t least) {
  const auto &terms = forms[number.form].terms;
  if (terms.size() == 1 && terms.front().second == 1)
    atoms[terms.front().first].least = least - number.constant;
}

std::optional<int64_t> Symbols::leastOfAtom(const Atom &atom) const {
  if (atom.least)
    return atom.least;
  auto leastAt = [&](size_t i) { return leastOf(atom.operands[i]); };
  switch (atom.op) {
  case Arith::DivS:
  case Arith::CeilDivS:
  case Arith::FloorDivS:
    if (std::optional<int64_t> least = leastAt(0);
        least && *least >= 0 && atom.operands[1].known() && atom.operands[1].constant > 0)
      return fold(atom.op, *least, atom.operands[1].constant, 0, false);
    return std::nullopt;
  case Arith::Mul:
    if (std::optional<int64_t> a = leastAt(0), b = leastAt(1); a && b && *a >= 0 && *b >= 0)
      return *a * *b;
    return std::nullopt;
  case Arith::MaxS: {
    std::optional<int64_t> a = leastAt(0), b = leastAt(1);
    return a && b ? std::max(*a, *b) : a ? a : b;
  }
  case Arith::MinS:
    if (std::optional<int64_t> a = leastAt(0), b = leastAt(1); a && b)
      return std::min(*a, *b);
    return std::nullopt;
  case Arith::Equal:
  case Arith::LessS:
  case Arith::LessU:
    return 0;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> Symbols::leastOf(Number number) const {
  if (number.varies())
    return std::nullopt;
  int64_t sum = number.constant;
  for (auto [index, factor] : forms[number.form].terms) {
    std::optional<int64_t> least = leastOfAtom(atoms[index]);
    if (!least || factor < 0)
      return std::nullopt;
    sum += factor * *least;
  }
  return sum;
}

std::optional<int64_t> Symbols::evaluateAtom(const Atom &atom) {
  if (atom.op == Arith::Opaque)
    return std::nullopt;
  int64_t values[3] = {0, 0, 0};
  for (size_t i = 0; i < atom.operands.size(); ++i) {
    std::optional<int64_t> value = evaluate(atom.operands[i]);
    if (!value)
      return std::nullopt;
    values[i] = *value;
  }
  return fold(atom.op, values[0], values[1], values[2], atom.flag);
}

std::optional<int64_t> Symbols::evaluate(Number number) {
  if (number.known())
    return number.constant;
  if (number.varies())
    return std::nullopt;
  Form &form = forms[number.form];
  if (form.value) {
    form.roles |= asking;
    return number.constant + *form.value;
  }
  int64_t sum = number.constant;
  for (auto [index, factor] : form.terms) {
    Number alone = fromTerms(0, {{index, 1}});
    std::optional<int64_t> value = forms[alone.form].value;
    if (value)
      forms[alone.form].roles |= asking;
    else
      value = evaluateAtom(atoms[index]);
    if (!value)
      return std::nullopt;
    sum += factor * *value;
  }
  return sum;
}

/// The value of a form that consists of parts which only a choice can decide.
int64_t Symbols::decideForm(Number form, const Domain &domain, Chooser &chooser) {
  Number opposite = scaled(form, -1);
  for (auto [candidate, sign] : {std::pair(form.form, 1), std::pair(opposite.form, -1)})
    if (std::optional<int64_t> value = forms[candidate].value) {
      forms[candidate].roles |= asking;
      return sign * *value;
    }
  Domain bounded = domain;
  if (std::optional<int64_t> least = leastOf(form))
    bounded.least = std::max(bounded.least, *least);
  int64_t value = chooser.choose(form.form, bounded);
  Form &chosen = forms[form.form];
  chosen.value = value;
  chosen.roles |= asking;
  if (domain.kind == Domain::Kind::Count)
    chosen.counted = domain;
  return value;
}

int64_t Symbols::decideAtom(int32_t index, const Domain &domain, Chooser &chooser) {
  // By value: deciding may add atoms.
  Atom atom = atoms[index];
  Domain flag = domain;
  flag.kind = Domain::Kind::Flag;
  if (atom.op == Arith::Equal || atom.op == Arith::LessS) {
    // A difference that counts a loop's steps is chosen as such; of any other only the sign
    // matters.
    Number difference = atom.operands[0];
    Number rest = {0, difference.form};
    if (std::optional<Domain> counted = forms[rest.form].counted) {
      counted->asks = domain.asks;
      int64_t value = decide(difference, *counted, chooser);
      return atom.op == Arith::Equal ? value == 0 : value < 0;
    }
    return decideForm(fromTerms(0, {{index, 1}}), flag, chooser);
  }
  if (atom.op == Arith::Select)
    return decide(atom.operands[0], flag, chooser) & 1 ? decide(atom.operands[1], domain, chooser)
                                                       : decide(atom.operands[2], domain, chooser);
  int64_t left = decide(atom.operands[0], atom.flag ? flag : domain, chooser);
  int64_t right = decide(atom.operands[1], atom.flag ? flag : domain, chooser);
  return *fold(atom.op, left, right, 0, atom.flag);
}

static bool isDecidedByParts(Arith op) {
  switch (op) {
  case Arith::MinS:
  case Arith::MinU:
  case Arith::MaxS:
  case Arith::MaxU:
  case Arith::And:
  case Arith::Or:
  case Arith::Xor:
  case Arith::Equal:
  case Arith::LessS:
  case Arith::Select:
    return true;
  default:
    return false;
  }
}

int64_t Symbols::decide(Number number, const Domain &domain, Chooser &chooser) {
  if (std::optional<int64_t> value = evaluate(number))
    return *value;
  int64_t sum = number.constant;
  llvm::SmallVector<std::pair<int32_t, int64_t>, 4> rest;
  llvm::SmallVector<std::pair<int32_t, int64_t>, 2> terms(forms[number.form].terms);
  for (auto [index, factor] : terms) {
    if (std::optional<int64_t> value = evaluate(fromTerms(0, {{index, 1}})))
      sum += factor * *value;
    else if (isDecidedByParts(atoms[index].op))
      sum += factor * decideAtom(index, domain, chooser);
    else
      rest.push_back({index, factor});
  }
  if (rest.empty())
    return sum;
  // The coefficients' common factor is no part of the question.
  int64_t common = 0;
  for (auto [index, factor] : rest)
    common = std::gcd(common, factor);
  for (auto &[index, factor] : rest)
    factor /= common;
  Domain part = domain;
  part.scale = std::max<int64_t>(1, domain.scale / common);
  return sum + common * decideForm(fromTerms(0, rest), part, chooser);
}

int64_t Symbols::decideCount(Number low, Number high, Number step, Domain domain,
                             Chooser &chooser) {
  std::optional<int64_t> by = evaluate(step);
  if (by) {
    if (*by <= 0)
      return 0;
    domain.scale = *by;
    int64_t length = decide(combine(high, low, -1), domain, chooser);
    return std::max<int64_t>(0, llvm::divideCeil(std::max<int64_t>(0, length), *by));
  }
  // Steps of b times something unknown, starting a steps from the first of a common grid: the
  // grid's length is what is chosen, so that all loops over it agree.
  const auto &terms = forms[step.form].terms;
  int64_t b = 0;
  for (auto [index, factor] : terms)
    b = std::gcd(b, factor);
  if (step.constant % b != 0)
    b = 1;
  llvm::SmallVector<std::pair<int32_t, int64_t>, 4> primitive(terms.begin(), terms.end());
  for (auto &term : primitive)
    term.second /= b;
  Number unit = fromTerms(step.constant / b, primitive);
  auto [leading, weight] = forms[unit.form].terms.front();
  int64_t a = 0;
  for (auto [index, factor] : forms[low.form].terms)
    if (index == leading)
      a = factor / weight;
  Number first = combine(low, unit, -a);
  Number grid = atom(Arith::CeilDivS, {combine(high, first, -1), unit}, 0, false);
  domain.scale = 1;
  int64_t length = decide(grid, domain, chooser);
  return std::max<int64_t>(0, llvm::divideCeil(std::max<int64_t>(0, length - a), b));
}

void Symbols::startRun() {
  for (Form &form : forms)
    form.value.reset();
}

} // namespace girih::wg::check
