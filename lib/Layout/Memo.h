// Questions about layouts that were answered before. A kernel asks the same few of them for every
// op of a shape, in pass after pass, and an answer visits every slot of a tile; so does the next
// kernel that a compiler worker gets. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_LAYOUT_MEMO_H
#define GIRIH_LIB_LAYOUT_MEMO_H

#include "girih/Layout/Layout.h"

#include <unordered_map>
#include <vector>

namespace girih::detail {

/// All that an answer depends on, as numbers.
class Question {
public:
  Question &add(int32_t number) {
    words.push_back(number);
    return *this;
  }
  Question &add(const std::vector<int32_t> &numbers) {
    words.push_back(static_cast<int32_t>(numbers.size()));
    words.insert(words.end(), numbers.begin(), numbers.end());
    return *this;
  }
  Question &add(const LayoutSpec &spec) {
    words.push_back(static_cast<int32_t>(spec.outDims.size()));
    for (Dim dim : spec.outDims)
      words.push_back(static_cast<int32_t>(dim));
    words.push_back(static_cast<int32_t>(spec.bases.size()));
    for (const Base &base : spec.bases)
      add(static_cast<int32_t>(base.dim)).add(base.to);
    for (const Repeat &repeat : spec.repeats)
      add(static_cast<int32_t>(repeat.dim)).add(repeat.step).add(repeat.extent);
    return add(-1).add(spec.shape);
  }
  Question &add(const Layout &layout) { return add(layout.spec()); }

  friend bool operator==(const Question &, const Question &) = default;

  struct Hash {
    size_t operator()(const Question &question) const {
      size_t hash = 14695981039346656037ull; // FNV-1a, a word at a time
      for (int32_t word : question.words)
        hash = (hash ^ static_cast<uint32_t>(word)) * 1099511628211ull;
      return hash ^ hash >> 32;
    }
  };

private:
  std::vector<int32_t> words;
};

/// Answers by question; for one thread, in a variable that is thread_local. When there are many,
/// all are forgotten.
template <class Answer> class Memo {
public:
  template <class Compute> Answer get(const Question &question, Compute compute) {
    if (auto found = answers.find(question); found != answers.end())
      return found->second;
    Answer answer = compute();
    if (answers.size() >= kMostAnswers)
      answers.clear();
    answers.emplace(question, answer);
    return answer;
  }

private:
  static constexpr size_t kMostAnswers = 1024;
  std::unordered_map<Question, Answer, Question::Hash> answers;
};

} // namespace girih::detail

#endif // GIRIH_LIB_LAYOUT_MEMO_H
