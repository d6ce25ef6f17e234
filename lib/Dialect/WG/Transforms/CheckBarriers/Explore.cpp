// Which runs are made; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explore.h"

#include "girih/Dialect/WG/Transforms/RingProtocol.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

/// Choices that may differ from what is tried first, in one run: all pairs are met.
constexpr unsigned kDeviations = 2;
/// Loop counts of one run that are tried in full; later ones take fewer values.
constexpr size_t kFullCounts = 2;

class Explorer : public Chooser {
public:
  Explorer(Model &model, Machine &machine) : model(model), machine(machine) {}

  Verdict run() {
    // Once for the forms that count steps: a branch on one of them is then decided by its number.
    machine.run(*this, {});
    bool isFinal = exploreAll();
    // Once more from counts of zero, which lead to branches that others do not.
    if (!isFinal && hasLaterCounts) {
      laterCountsStartAtZero = true;
      exploreAll();
    }
    verdict.steps = machine.steps();
    return std::move(verdict);
  }

  int64_t choose(int32_t form, const Domain &domain) override {
    if (isFrozen) {
      for (const Choice &choice : path)
        if (choice.form == form)
          return choice.value();
    } else if (replayed < path.size()) {
      if (path[replayed].form == form)
        return path[replayed++].value();
      path.resize(replayed);
    }
    Choice choice{form, domain, {}, 0};
    addValues(choice);
    path.push_back(std::move(choice));
    replayed = path.size();
    return path.back().value();
  }

private:
  /// Makes all runs, up to the first that settles the verdict; whether one did.
  bool exploreAll() {
    path.clear();
    do {
      ++verdict.runs;
      replayed = 0;
      std::optional<Fault> fault = machine.run(*this, {});
      path.resize(replayed);
      if (machine.undecided()) {
        verdict.undecided = machine.undecided();
        return true;
      }
      if (fault && decide(*fault))
        return true;
    } while (next());
    return false;
  }

  void addValues(Choice &choice) {
    const Domain &domain = choice.domain;
    auto add = [&](int64_t value) {
      value *= domain.scale;
      if (value >= domain.least && !llvm::is_contained(choice.values, value))
        choice.values.push_back(value);
    };
    size_t counts = llvm::count_if(
        path, [](const Choice &other) { return other.domain.kind == Domain::Kind::Count; });
    bool isLater = domain.kind == Domain::Kind::Count && counts >= kFullCounts;
    hasLaterCounts |= isLater;
    // A branch is taken to go the way that it went before.
    auto before = llvm::find_if(llvm::reverse(path), [&](const Choice &other) {
      return other.domain.kind == Domain::Kind::Flag && other.domain.asks == domain.asks;
    });
    if (domain.kind == Domain::Kind::Flag && before != path.rend())
      add(before->value());
    if (isLater && laterCountsStartAtZero)
      add(0);
    add(domain.first);
    if (!isLater) {
      for (int64_t value = 0; value <= domain.largest; ++value)
        add(value);
      if (choice.values.empty())
        choice.values.push_back(domain.least);
      return;
    }
    for (int64_t value : {int64_t(0), int64_t(1), domain.largest / 2, domain.largest})
      add(value);
    if (choice.values.empty())
      choice.values.push_back(domain.least);
  }

  /// The next path: the last choice that may take another value does.
  bool next() {
    while (!path.empty()) {
      unsigned before = 0;
      for (size_t i = 0; i + 1 < path.size(); ++i)
        before += path[i].index != 0;
      Choice &last = path.back();
      if (before < kDeviations && last.index + 1 < last.values.size()) {
        ++last.index;
        return true;
      }
      path.pop_back();
    }
    return false;
  }

  std::optional<Fault> again(const RunOptions &options) {
    isFrozen = true;
    std::vector<Choice> kept = path;
    std::optional<Fault> fault = machine.run(*this, options);
    asked = std::move(path);
    path = std::move(kept);
    isFrozen = false;
    return fault;
  }

  static std::string reasonOf(const Choice &choice, const Finding &finding) {
    bool counts = choice.domain.kind == Domain::Kind::Count;
    std::string text = counts ? "only one role computes how often the loop here runs, and with " +
                                    std::to_string(choice.value() / choice.domain.scale) + " steps"
                              : "only one role computes the condition here, and where it is " +
                                    std::string(choice.value() ? "true" : "false");
    return text + " there would be a fault (" + nameOf(finding.kind).str() + " at " +
           placeOf(finding.blamed->getLoc()) +
           "); expected a bound or condition that is the same expression in every role";
  }

  /// Whether only one role has asked for a choice, while another role has asked for something that
  /// this one has not: that may be how it follows.
  bool isPrivate(const Choice &choice, ArrayRef<Choice> all) const {
    uint32_t mine = model.symbols.rolesOf(choice.form);
    return (mine & (mine - 1)) == 0 && llvm::any_of(all, [&](const Choice &other) {
             return (model.symbols.rolesOf(other.form) & mine) == 0;
           });
  }

  /// A fault is final unless it hangs on something that only some roles know: another role may
  /// follow it in a way that is not seen here.
  bool decide(const Fault &fault) {
    std::vector<Choice> found = path;
    Finding finding =
        diagnose(model, machine, fault, [&](const RunOptions &options) { return again(options); });
    // To its end, so that all roles have asked what they ask.
    RunOptions toTheEnd;
    toTheEnd.forgive = true;
    again(toTheEnd);
    std::vector<Choice> all = asked;
    bool exchanges = finding.kind == FaultClass::Deadlock ||
                     finding.kind == FaultClass::LostRelease ||
                     finding.kind == FaultClass::DoubleRelease;
    if (exchanges)
      for (size_t i = 0; i < found.size(); ++i) {
        if (!isPrivate(found[i], all))
          continue;
        // If every value leads to the fault, it does not hang on this one.
        bool always = true;
        for (size_t index = 0; index < found[i].values.size() && always; ++index) {
          path = found;
          path[i].index = index;
          always = again({}).has_value();
        }
        path = found;
        if (always)
          continue;
        verdict.undecided = Undecided{found[i].domain.asks->getLoc(), reasonOf(found[i], finding)};
        return true;
      }
    shorten(finding);
    std::vector<Step> trace;
    RunOptions options;
    options.trace = &trace;
    again(options);
    finding.trace = std::move(trace);
    finding.choices = path;
    verdict.finding = std::move(finding);
    return true;
  }

  /// Takes smaller counts that lead to the same fault, for a schedule that is short to read.
  void shorten(Finding &finding) {
    for (size_t i = 0; i < path.size(); ++i) {
      if (path[i].domain.kind != Domain::Kind::Count)
        continue;
      std::vector<Choice> known = path;
      SmallVector<size_t, 16> order =
          llvm::to_vector<16>(llvm::seq<size_t>(0, path[i].values.size()));
      llvm::sort(order, [&](size_t a, size_t b) { return path[i].values[a] < path[i].values[b]; });
      for (size_t index : order) {
        if (path[i].values[index] >= known[i].value())
          break;
        path[i].index = index;
        std::optional<Fault> fault = again({});
        if (!fault)
          continue;
        Finding shorter = diagnose(model, machine, *fault,
                                   [&](const RunOptions &options) { return again(options); });
        if (shorter.kind != finding.kind || shorter.blamed != finding.blamed)
          continue;
        finding = std::move(shorter);
        known = path;
        break;
      }
      path = std::move(known);
    }
  }

  Model &model;
  Machine &machine;
  std::vector<Choice> path;
  /// All choices of the last repeated run, which may have gone on where the first stopped.
  std::vector<Choice> asked;
  size_t replayed = 0;
  bool isFrozen = false;
  /// Whether a run had more counts than are tried in full, and what those are at first.
  bool hasLaterCounts = false, laterCountsStartAtZero = false;
  Verdict verdict;
};

} // namespace

Verdict explore(Model &model, Machine &machine) { return Explorer(model, machine).run(); }

} // namespace girih::wg::check
