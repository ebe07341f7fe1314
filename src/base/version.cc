#include "base/version.h"

namespace moxie {

std::string_view Version() { return MOXIE_VERSION; }

}  // namespace moxie
