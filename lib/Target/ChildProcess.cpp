//===- ChildProcess.cpp - Run one of NVIDIA's tools
//-----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/ChildProcess.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace girih;
using namespace girih::target;

extern char **environ;

namespace {
/// An anonymous file that closes itself.
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : descriptor(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      close(descriptor);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  std::string read() const {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
      return "";
    std::string bytes(static_cast<size_t>(status.st_size), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t count =
          pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        break;
      done += static_cast<size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  }

  int descriptor;
};
} // namespace

ChildProcess target::runChild(const std::string &program, const std::vector<std::string> &arguments,
                              std::string_view input) {
  ChildProcess result;
  MemoryFile in("girih-in"), out("girih-out"), messages("girih-messages");
  if (in.descriptor < 0 || out.descriptor < 0 || messages.descriptor < 0 || !in.write(input)) {
    result.failure = "no memory for the files of '" + program + "': " + std::strerror(errno);
    return result;
  }
  // In the child the files have fixed numbers far from any that a parent's own may have taken.
  constexpr int childIn = 200, childOut = 201;
  std::vector<std::string> words = {program};
  for (const std::string &argument : arguments)
    words.push_back(argument == "{input}"    ? "/proc/self/fd/" + std::to_string(childIn)
                    : argument == "{output}" ? "/proc/self/fd/" + std::to_string(childOut)
                                             : argument);
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, messages.descriptor, 1);
  posix_spawn_file_actions_adddup2(&actions, messages.descriptor, 2);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor, childIn);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor, childOut);
  pid_t child = -1;
  int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    result.failure = "'" + program + "' cannot be run: " + std::strerror(error);
    return result;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) {
      result.failure = "waiting for '" + program + "' failed: " + std::strerror(errno);
      return result;
    }
  result.messages = messages.read();
  if (WIFSIGNALED(status)) {
    result.failure = "'" + program + "' was ended by signal " + std::to_string(WTERMSIG(status));
    return result;
  }
  result.status = WEXITSTATUS(status);
  result.output = out.read();
  return result;
}
