// The filters that know HTML and URLs.
#pragma once

#include "text/jinja/text.h"

namespace moxie::text::jinja {

// & < > ' " as entities.
Text EscapeHtml(const Text& text);

// Without tags and comments, runs of whitespace made one space, entities as characters.
Text StripTags(const Text& text);

// urllib.parse.quote; with `query`, a space becomes a plus and a slash is quoted too.
Text QuoteUrl(const Text& text, bool query);

}  // namespace moxie::text::jinja
