// Vocabularies of bytes and ranks (tiktoken, tekken): two neighbours merge when together they are a
// token, the lowest rank first; a word that is a token is taken whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/model.h"

namespace moxie::text {

// `tokens`: the bytes of each token, in the order of their ranks; token i has id `first_id` + i.
// An empty one is a rank that no token has.
// Pieces are spelled in GPT-2's alphabet.
Result<std::unique_ptr<Model>> MakeRankBpe(const std::vector<std::string>& tokens,
                                           int32_t first_id);

}  // namespace moxie::text
