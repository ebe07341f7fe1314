#include "cli/command_table.h"

#include "cli/bench.h"
#include "cli/complete.h"
#include "cli/help.h"
#include "cli/ir.h"
#include "cli/plan.h"
#include "cli/render.h"
#include "cli/serve.h"
#include "cli/tokenize.h"
#include "cli/tokenizer_lines.h"

namespace moxie::cli {
namespace {

constexpr CommandRow kCommands[] = {
    {"serve", "Serve a model over HTTP, with the OpenAI API", Serve},
    {"complete", "Continue a prompt on the terminal", Complete},
    {"plan", "Show every byte that serving would use, without loading anything", Plan},
    {"bench", "Measure prompt (pp) and generation (tg) speed", Bench},
    {"ir", "Show how a program in the text form of graphs is planned, and run it", Ir},
    {"tokenize", "Show the token ids of a text", Tokenize},
    {"detokenize", "Show the text of token ids", Detokenize},
    {"tokenizer-lines", "Encode and decode JSON lines, for tools that compare", TokenizerLines},
    {"render", "Show the prompt that a chat template makes of messages", Render},
    {"help", "Show this, or the flags of a command", Help},
    {"version", "Show the version", PrintVersion},
};

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

}  // namespace moxie::cli
