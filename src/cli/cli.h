// The command line: a table of sub-commands, one file each.
//
// Exit codes: 0; 1 for an error while running, one line `moxie: error: ...` on stderr; 2 for wrong
// usage.
#pragma once

namespace moxie::cli {

// `moxie COMMAND ...`, `moxie --version`, `moxie --help`. Never throws.
int Main(int argc, char** argv);

}  // namespace moxie::cli
