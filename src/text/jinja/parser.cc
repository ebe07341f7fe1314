#include "text/jinja/parser.h"

#include <algorithm>

namespace moxie::text::jinja {
namespace {

constexpr int kMaxNesting = 150;    // brackets, operators' operands and blocks
constexpr int kMaxTreeDepth = 400;  // a chain of operators is a tree as deep as it is long

constexpr std::string_view kRefusedTags[] = {"block",  "extends", "include",
                                             "import", "from",    "autoescape"};

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(Tokenize(source)) {}

  Body Parse() {
    Body body = ParseBody({});
    return body;
  }

 private:
  using Names = std::vector<std::string_view>;

  // Bounds the recursion of the parser.
  struct Nest {
    explicit Nest(Parser& p) : parser(p) {
      if (++parser.nesting_ > kMaxNesting) {
        parser.Fail(StrCat("nested deeper than ", kMaxNesting, " levels"));
      }
    }
    ~Nest() { --parser.nesting_; }
    Parser& parser;
  };

  const Token& Current() const { return tokens_[at_]; }
  const Token& Look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& Next() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool SkipOp(std::string_view op) { return Current().IsOp(op) && (Next(), true); }
  bool SkipName(std::string_view name) { return Current().IsName(name) && (Next(), true); }

  [[noreturn]] void Fail(std::string message) { FailAt(Current(), std::move(message)); }
  [[noreturn]] void FailAt(const Token& token, std::string message) {
    throw SyntaxError{std::move(message), token.line, token.column};
  }
  [[noreturn]] void FailExpected(std::string_view what) {
    if (Current().type == Tok::kEof) {
      Fail(StrCat("unexpected end of template, expected '", what, "'"));
    }
    Fail(StrCat("expected token '", what, "', got '", DescribeToken(Current()), "'"));
  }
  void ExpectOp(std::string_view op) {
    if (!SkipOp(op)) FailExpected(op);
  }
  void ExpectName(std::string_view name) {
    if (!SkipName(name)) FailExpected(name);
  }
  std::string TakeName() {
    if (Current().type != Tok::kName) FailExpected("name");
    return Next().text;
  }
  void Expect(Tok type, std::string_view what) {
    if (Current().type != type) FailExpected(what);
    Next();
  }

  // Sets line and depth of a complete expression.
  template <typename T>
  std::unique_ptr<T> Finish(std::unique_ptr<T> node, int line) {
    node->line = line;
    int depth = 0;
    node->Children([&](Node& child) { depth = std::max(depth, child.depth); });
    node->depth = depth + 1;
    if (node->depth > kMaxTreeDepth) {
      Fail(StrCat("an expression has more than ", kMaxTreeDepth, " nested operations"));
    }
    return node;
  }

  // Statements up to one of the tags in `ends`, which is left as the current token.
  Body ParseBody(const Names& ends) {
    Nest nest(*this);
    Body body;
    std::unique_ptr<Output> output;
    auto flush = [&] {
      if (output != nullptr) body.push_back(std::move(output));
    };
    auto add = [&](ExprPtr part) {
      if (output == nullptr) {
        output = std::make_unique<Output>();
        output->line = part->line;
      }
      output->parts.push_back(std::move(part));
    };
    while (Current().type != Tok::kEof) {
      const Token& token = Next();
      if (token.type == Tok::kData) {
        auto data = std::make_unique<Const>();
        data->value = Text(token.text, Origin::kTemplate);
        add(Finish(std::move(data), token.line));
      } else if (token.type == Tok::kVariableBegin) {
        add(ParseTuple());
        Expect(Tok::kVariableEnd, "end of print statement");
      } else {
        flush();
        if (Current().type == Tok::kName &&
            std::find(ends.begin(), ends.end(), Current().text) != ends.end()) {
          return body;
        }
        body.push_back(ParseStatement());
        Expect(Tok::kBlockEnd, "end of statement block");
      }
    }
    flush();
    if (!ends.empty()) FailEnd(ends);
    return body;
  }

  [[noreturn]] void FailEnd(const Names& ends) {
    std::string looking;
    for (std::string_view end : ends) looking += StrCat(looking.empty() ? "'" : " or '", end, "'");
    Fail(StrCat("Unexpected end of template. Jinja was looking for the following tags: ", looking,
                ". The innermost block that needs to be closed is '", tags_.back(), "'."));
  }

  // ":"? "%}" body, up to one of the tags.
  Body ParseBlock(const Names& ends) {
    SkipOp(":");
    Expect(Tok::kBlockEnd, "end of statement block");
    return ParseBody(ends);
  }
  Body ParseBlockAndEnd(std::string_view end) {
    Body body = ParseBlock({end});
    Next();
    return body;
  }

  std::unique_ptr<Stmt> ParseStatement() {
    const Token token = Current();
    if (token.type != Tok::kName) Fail("tag name expected");
    struct Row {
      std::string_view tag;
      std::unique_ptr<Stmt> (Parser::*parse)();
    };
    static constexpr Row kTags[] = {
        {"for", &Parser::ParseFor},
        {"if", &Parser::ParseIf},
        {"set", &Parser::ParseSet},
        {"macro", &Parser::ParseMacro},
        {"call", &Parser::ParseCallBlock},
        {"filter", &Parser::ParseFilterBlock},
        {"with", &Parser::ParseWith},
        {"print", &Parser::ParsePrint},
        {"break", &Parser::ParseBreak},
        {"continue", &Parser::ParseContinue},
        {"generation", &Parser::ParseGeneration},
    };
    auto row = std::find_if(std::begin(kTags), std::end(kTags),
                            [&](const Row& r) { return r.tag == token.text; });
    if (row == std::end(kTags)) FailUnknownTag(token);
    tags_.push_back(token.text);
    Next();
    auto statement = (this->*row->parse)();
    statement->line = token.line;
    tags_.pop_back();
    return statement;
  }

  [[noreturn]] void FailUnknownTag(const Token& token) {
    if (std::find(std::begin(kRefusedTags), std::end(kRefusedTags), token.text) !=
        std::end(kRefusedTags)) {
      FailAt(token, StrCat("the tag '", token.text,
                           "' is not supported: a chat template is one self-contained file"));
    }
    std::string message = StrCat("Encountered unknown tag '", token.text, "'.");
    if (!tags_.empty()) {
      message += StrCat(" The innermost block that needs to be closed is '", tags_.back(), "'.");
    }
    FailAt(token, message);
  }

  std::unique_ptr<Stmt> ParseFor() {
    auto node = std::make_unique<For>();
    node->target = ParseTarget(/*with_namespace=*/false);
    CheckNoLoopTarget(*node->target);
    ExpectName("in");
    node->iter = ParseTuple(/*with_condition=*/false);
    if (SkipName("if")) node->test = ParseExpression();
    node->recursive = SkipName("recursive");
    ++loops_;
    ++loop_bodies_;
    node->body = ParseBlock({"endfor", "else"});
    --loops_;
    bool has_else = Next().text == "else";
    if (has_else) {
      int outer = loops_;
      if (node->recursive) loops_ = 0;  // the else part belongs to the loop's own function
      node->otherwise = ParseBlockAndEnd("endfor");
      loops_ = outer;
    }
    --loop_bodies_;
    return node;
  }

  void CheckNoLoopTarget(Node& target) {
    if (target.kind == Node::Kind::kName && static_cast<Name&>(target).name == "loop") {
      throw SyntaxError{"Can't assign to special loop variable in for-loop target", target.line, 1};
    }
    target.Children([this](Node& child) { CheckNoLoopTarget(child); });
  }

  std::unique_ptr<Stmt> ParseIf() {
    auto result = std::make_unique<If>();
    If* node = result.get();
    for (;;) {
      node->test = ParseTuple(/*with_condition=*/false);
      node->body = ParseBlock({"elif", "else", "endif"});
      const Token& token = Next();
      if (token.text == "elif") {
        auto elif = std::make_unique<If>();
        elif->line = token.line;
        node = elif.get();
        result->elifs.push_back(std::move(elif));
        continue;
      }
      if (token.text == "else") result->otherwise = ParseBlockAndEnd("endif");
      return result;
    }
  }

  std::unique_ptr<Stmt> ParseSet() {
    ExprPtr target = ParseTarget(/*with_namespace=*/true);
    if (loop_bodies_ > 0) CheckNoLoopTarget(*target);
    if (SkipOp("=")) {
      auto node = std::make_unique<Assign>();
      node->target = std::move(target);
      node->value = ParseTuple();
      return node;
    }
    auto node = std::make_unique<AssignBlock>();
    node->target = std::move(target);
    node->filter = ParseFilters(nullptr, false);
    node->body = ParseBlockAndEnd("endset");
    return node;
  }

  // The body of a macro is a function of its own: no loop around it can be left from inside.
  Body ParseFunctionBody(std::string_view end) {
    int outer = loops_;
    loops_ = 0;
    Body body = ParseBlockAndEnd(end);
    loops_ = outer;
    return body;
  }

  void ParseSignature(MacroCode& code) {
    ExpectOp("(");
    while (!Current().IsOp(")")) {
      if (!code.params.empty()) ExpectOp(",");
      auto param = ParseTargetName();
      param->context = Name::kParam;
      if (SkipOp("=")) {
        code.defaults.push_back(ParseExpression());
      } else if (!code.defaults.empty()) {
        Fail("non-default argument follows default argument");
      }
      code.params.push_back(std::move(param));
    }
    ExpectOp(")");
    for (size_t i = 0; i < code.params.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (code.params[i]->name == code.params[j]->name) {
          Fail(StrCat("duplicate argument '", code.params[i]->name, "' in a macro"));
        }
      }
    }
  }

  std::unique_ptr<Stmt> ParseMacro() {
    auto node = std::make_unique<MacroDef>();
    auto name = ParseTargetName();
    node->code.name = name->name;
    ParseSignature(node->code);
    node->code.body = ParseFunctionBody("endmacro");
    return node;
  }

  std::unique_ptr<Stmt> ParseCallBlock() {
    const Token start = Current();
    auto node = std::make_unique<CallBlock>();
    if (Current().IsOp("(")) ParseSignature(node->code);
    node->call = ParseExpression();
    if (node->call->kind != Node::Kind::kCall) FailAt(start, "expected call");
    for (auto& [name, value] : static_cast<Call&>(*node->call).args.keyword) {
      if (name == "caller") FailAt(start, "keyword argument repeated: caller");
    }
    node->code.body = ParseFunctionBody("endcall");
    return node;
  }

  std::unique_ptr<Stmt> ParseGeneration() {
    auto node = std::make_unique<CallBlock>();
    node->code.body = ParseFunctionBody("endgeneration");
    return node;
  }

  std::unique_ptr<Stmt> ParseFilterBlock() {
    auto node = std::make_unique<FilterBlock>();
    node->filter = ParseFilters(nullptr, true);
    node->body = ParseBlockAndEnd("endfilter");
    return node;
  }

  std::unique_ptr<Stmt> ParseWith() {
    auto node = std::make_unique<With>();
    while (Current().type != Tok::kBlockEnd) {
      if (!node->targets.empty()) ExpectOp(",");
      ExprPtr target = ParseTarget(/*with_namespace=*/false);
      SetContext(*target, Name::kParam);
      node->targets.push_back(std::move(target));
      ExpectOp("=");
      node->values.push_back(ParseExpression());
    }
    node->body = ParseBlockAndEnd("endwith");
    return node;
  }

  std::unique_ptr<Stmt> ParsePrint() {
    auto node = std::make_unique<Output>();
    while (Current().type != Tok::kBlockEnd) {
      if (!node->parts.empty()) ExpectOp(",");
      node->parts.push_back(ParseExpression());
    }
    return node;
  }

  std::unique_ptr<Stmt> ParseJump(Node::Kind kind, std::string_view word) {
    if (loops_ == 0) Fail(StrCat("'", word, "' outside loop"));
    return std::make_unique<Jump>(kind);
  }
  std::unique_ptr<Stmt> ParseBreak() { return ParseJump(Node::Kind::kBreak, "break"); }
  std::unique_ptr<Stmt> ParseContinue() { return ParseJump(Node::Kind::kContinue, "continue"); }

  static bool CanAssign(Node& node) {
    if (node.kind == Node::Kind::kNsRef || node.kind == Node::Kind::kName) return true;
    if (node.kind != Node::Kind::kTuple) return false;
    bool ok = true;
    node.Children([&](Node& child) { ok = ok && CanAssign(child); });
    return ok;
  }
  static void SetContext(Node& node, Name::Context context) {
    if (node.kind == Node::Kind::kName) static_cast<Name&>(node).context = context;
    node.Children([&](Node& child) { SetContext(child, context); });
  }

  std::unique_ptr<Name> ParseTargetName() {
    const Token token = Current();
    auto name = std::make_unique<Name>();
    name->name = TakeName();
    name->context = Name::kStore;
    if (IsConstantName(name->name)) FailAt(token, "can't assign to 'name'");
    return Finish(std::move(name), token.line);
  }

  static bool IsConstantName(std::string_view name) {
    return name == "true" || name == "false" || name == "none" || name == "True" ||
           name == "False" || name == "None";
  }

  ExprPtr ParseTarget(bool with_namespace) {
    const Token token = Current();
    ExprPtr target = ParseTupleOf([&] { return ParsePrimary(with_namespace); },
                                  /*explicit_parentheses=*/false);
    if (!CanAssign(*target)) FailAt(token, "can't assign to this expression");
    SetContext(*target, Name::kStore);
    return target;
  }

  // Not `in` or `recursive`: behind a comma jinja2 takes them for names.
  bool IsTupleEnd() const {
    const Token& t = Current();
    return t.type == Tok::kVariableEnd || t.type == Tok::kBlockEnd || t.IsOp(")");
  }

  template <typename F>
  ExprPtr ParseTupleOf(F parse, bool explicit_parentheses) {
    int line = Current().line;
    std::vector<ExprPtr> items;
    bool is_tuple = false;
    for (;;) {
      if (!items.empty()) ExpectOp(",");
      if (IsTupleEnd()) break;
      items.push_back(parse());
      if (!Current().IsOp(",")) break;
      is_tuple = true;
    }
    if (!is_tuple) {
      if (!items.empty()) return std::move(items[0]);
      if (!explicit_parentheses) {
        Fail(StrCat("Expected an expression, got '", DescribeToken(Current()), "'"));
      }
    }
    auto tuple = std::make_unique<Items>(Node::Kind::kTuple);
    tuple->items = std::move(items);
    return Finish(std::move(tuple), line);
  }

  ExprPtr ParseTuple(bool with_condition = true, bool explicit_parentheses = false) {
    return ParseTupleOf([&] { return ParseExpression(with_condition); }, explicit_parentheses);
  }

  ExprPtr ParseExpression(bool with_condition = true) {
    Nest nest(*this);
    return with_condition ? ParseConditional() : ParseOr();
  }

  ExprPtr ParseConditional() {
    int line = Current().line;
    ExprPtr expr = ParseOr();
    while (SkipName("if")) {
      auto node = std::make_unique<Conditional>();
      node->then = std::move(expr);
      node->test = ParseOr();
      if (SkipName("else")) {
        Nest nest(*this);
        node->otherwise = ParseConditional();
      }
      expr = Finish(std::move(node), line);
      line = Current().line;
    }
    return expr;
  }

  ExprPtr ParseLogic(std::string_view word, ExprPtr (Parser::*operand)()) {
    int line = Current().line;
    ExprPtr left = (this->*operand)();
    while (SkipName(word)) {
      auto node = std::make_unique<Logic>();
      node->is_and = word == "and";
      node->left = std::move(left);
      node->right = (this->*operand)();
      left = Finish(std::move(node), line);
      line = Current().line;
    }
    return left;
  }
  ExprPtr ParseOr() { return ParseLogic("or", &Parser::ParseAnd); }
  ExprPtr ParseAnd() { return ParseLogic("and", &Parser::ParseNot); }

  ExprPtr ParseUnaryNode(Unary::Op op, ExprPtr operand, int line) {
    auto node = std::make_unique<Unary>();
    node->op = op;
    node->operand = std::move(operand);
    return Finish(std::move(node), line);
  }

  ExprPtr ParseNot() {
    if (!Current().IsName("not")) return ParseCompare();
    Nest nest(*this);
    int line = Next().line;
    return ParseUnaryNode(Unary::kNot, ParseNot(), line);
  }

  std::optional<Comparison::Op> TakeComparison() {
    static constexpr std::pair<std::string_view, Comparison::Op> kOps[] = {
        {"==", Comparison::kEqual},  {"!=", Comparison::kNotEqual},
        {"<", Comparison::kLess},    {"<=", Comparison::kLessEqual},
        {">", Comparison::kGreater}, {">=", Comparison::kGreaterEqual}};
    for (auto [symbol, op] : kOps) {
      if (SkipOp(symbol)) return op;
    }
    if (SkipName("in")) return Comparison::kIn;
    if (Current().IsName("not") && Look().IsName("in")) {
      Next();
      Next();
      return Comparison::kNotIn;
    }
    return std::nullopt;
  }

  ExprPtr ParseCompare() {
    int line = Current().line;
    ExprPtr expr = ParseSum();
    auto op = TakeComparison();
    if (!op) return expr;
    auto node = std::make_unique<Comparison>();
    node->first = std::move(expr);
    for (; op; op = TakeComparison()) node->rest.emplace_back(*op, ParseSum());
    return Finish(std::move(node), line);
  }

  using OpRow = std::pair<std::string_view, BinaryOp>;
  template <size_t n>
  ExprPtr ParseBinary(const OpRow (&ops)[n], ExprPtr (Parser::*operand)()) {
    int line = Current().line;
    ExprPtr left = (this->*operand)();
    for (;;) {
      auto row = std::find_if(std::begin(ops), std::end(ops),
                              [&](const OpRow& r) { return Current().IsOp(r.first); });
      if (row == std::end(ops)) return left;
      Next();
      auto node = std::make_unique<Binary>();
      node->op = row->second;
      node->left = std::move(left);
      node->right = (this->*operand)();
      left = Finish(std::move(node), line);
      line = Current().line;
    }
  }
  ExprPtr ParseSum() {
    static constexpr OpRow kOps[] = {{"+", BinaryOp::kAdd}, {"-", BinaryOp::kSub}};
    return ParseBinary(kOps, &Parser::ParseConcat);
  }
  ExprPtr ParseProduct() {
    static constexpr OpRow kOps[] = {{"*", BinaryOp::kMul},
                                     {"/", BinaryOp::kDiv},
                                     {"//", BinaryOp::kFloorDiv},
                                     {"%", BinaryOp::kMod}};
    return ParseBinary(kOps, &Parser::ParsePower);
  }
  ExprPtr ParsePower() {
    static constexpr OpRow kOps[] = {{"**", BinaryOp::kPow}};
    return ParseBinary(kOps, &Parser::ParseUnary);
  }

  ExprPtr ParseConcat() {
    int line = Current().line;
    ExprPtr first = ParseProduct();
    if (!Current().IsOp("~")) return first;
    auto node = std::make_unique<Concat>();
    node->parts.push_back(std::move(first));
    while (SkipOp("~")) node->parts.push_back(ParseProduct());
    return Finish(std::move(node), line);
  }

  ExprPtr ParseUnary() { return ParseSigned(true); }
  ExprPtr ParseSigned(bool with_filter) {
    Nest nest(*this);
    int line = Current().line;
    ExprPtr node;
    if (SkipOp("-")) {
      node = ParseUnaryNode(Unary::kNegative, ParseSigned(false), line);
    } else if (SkipOp("+")) {
      node = ParseUnaryNode(Unary::kPositive, ParseSigned(false), line);
    } else {
      node = ParsePrimary(false);
    }
    node = ParsePostfix(std::move(node));
    return with_filter ? ParseFilterExpr(std::move(node)) : std::move(node);
  }

  ExprPtr MakeConst(Value value, int line) {
    auto node = std::make_unique<Const>();
    node->value = std::move(value);
    return Finish(std::move(node), line);
  }

  ExprPtr ParseNamePrimary(bool with_namespace) {
    const Token& token = Next();
    if (IsConstantName(token.text)) {
      char c = static_cast<char>(token.text[0] | 0x20);
      return MakeConst(c == 'n' ? Value(None{}) : Value(c == 't'), token.line);
    }
    if (with_namespace && SkipOp(".")) {
      auto node = std::make_unique<NsRef>();
      node->name = token.text;
      node->attribute = TakeName();
      return Finish(std::move(node), token.line);
    }
    auto node = std::make_unique<Name>();
    node->name = token.text;
    return Finish(std::move(node), token.line);
  }

  ExprPtr ParsePrimary(bool with_namespace) {
    const Token& token = Current();
    int line = token.line;
    switch (token.type) {
      case Tok::kName:
        return ParseNamePrimary(with_namespace);
      case Tok::kString: {
        std::string text;
        while (Current().type == Tok::kString) text += Next().text;
        return MakeConst(Text(std::move(text), Origin::kTemplate), line);
      }
      case Tok::kInteger:
      case Tok::kFloat:
        return MakeConst(Next().number, line);
      default:
        break;
    }
    if (SkipOp("(")) {
      Nest nest(*this);
      ExprPtr node = ParseTuple(true, /*explicit_parentheses=*/true);
      ExpectOp(")");
      return node;
    }
    if (token.IsOp("[")) return ParseList();
    if (token.IsOp("{")) return ParseDict();
    Fail(StrCat("unexpected '", DescribeToken(token), "'"));
  }

  ExprPtr ParseList() {
    int line = Next().line;
    auto node = std::make_unique<Items>(Node::Kind::kList);
    while (!Current().IsOp("]")) {
      if (!node->items.empty()) ExpectOp(",");
      if (Current().IsOp("]")) break;
      node->items.push_back(ParseExpression());
    }
    ExpectOp("]");
    return Finish(std::move(node), line);
  }

  ExprPtr ParseDict() {
    int line = Next().line;
    auto node = std::make_unique<DictDisplay>();
    while (!Current().IsOp("}")) {
      if (!node->items.empty()) ExpectOp(",");
      if (Current().IsOp("}")) break;
      ExprPtr key = ParseExpression();
      ExpectOp(":");
      node->items.emplace_back(std::move(key), ParseExpression());
    }
    ExpectOp("}");
    return Finish(std::move(node), line);
  }

  ExprPtr ParsePostfix(ExprPtr node) {
    for (;;) {
      if (Current().IsOp(".")) {
        node = ParseAttribute(std::move(node));
      } else if (Current().IsOp("[")) {
        node = ParseSubscript(std::move(node));
      } else if (Current().IsOp("(")) {
        node = ParseCall(std::move(node));
      } else {
        return node;
      }
    }
  }

  ExprPtr ParseFilterExpr(ExprPtr node) {
    for (;;) {
      if (Current().IsOp("|")) {
        node = ParseFilters(std::move(node), false);
      } else if (Current().IsName("is")) {
        node = ParseTest(std::move(node));
      } else if (Current().IsOp("(")) {
        node = ParseCall(std::move(node));
      } else {
        return node;
      }
    }
  }

  ExprPtr ParseAttribute(ExprPtr object) {
    int line = Next().line;
    if (Current().type == Tok::kName) {
      auto node = std::make_unique<Getattr>();
      node->object = std::move(object);
      node->attribute = Next().text;
      return Finish(std::move(node), line);
    }
    if (Current().type != Tok::kInteger) Fail("expected name or number");
    auto node = std::make_unique<Getitem>();
    node->object = std::move(object);
    node->index = MakeConst(Next().number, line);
    return Finish(std::move(node), line);
  }

  ExprPtr ParseSubscript(ExprPtr object) {
    int line = Next().line;
    std::vector<ExprPtr> args;
    while (!Current().IsOp("]")) {
      if (!args.empty()) ExpectOp(",");
      args.push_back(ParseSubscribed());
    }
    ExpectOp("]");
    auto node = std::make_unique<Getitem>();
    node->object = std::move(object);
    if (args.size() == 1) {
      node->index = std::move(args[0]);
    } else {
      auto tuple = std::make_unique<Items>(Node::Kind::kTuple);
      tuple->items = std::move(args);
      node->index = Finish(std::move(tuple), line);
    }
    return Finish(std::move(node), line);
  }

  ExprPtr ParseSubscribed() {
    auto slice = std::make_unique<SliceExpr>();
    int line = Current().line;
    if (!SkipOp(":")) {
      ExprPtr first = ParseExpression();
      if (!SkipOp(":")) return first;
      slice->start = std::move(first);
    }
    auto at_end = [&] { return Current().IsOp("]") || Current().IsOp(","); };
    if (!Current().IsOp(":") && !at_end()) slice->stop = ParseExpression();
    if (SkipOp(":") && !at_end()) slice->step = ParseExpression();
    return Finish(std::move(slice), line);
  }

  CallArgs ParseCallArgs() {
    const Token start = Current();
    ExpectOp("(");
    CallArgs args;
    auto ensure = [&](bool ok) {
      if (!ok) FailAt(start, "invalid syntax for function call expression");
    };
    bool comma = false;
    while (!Current().IsOp(")")) {
      if (comma) {
        ExpectOp(",");
        if (Current().IsOp(")")) break;
      }
      comma = true;
      if (SkipOp("*")) {
        ensure(!args.star && !args.double_star);
        args.star = ParseExpression();
      } else if (SkipOp("**")) {
        ensure(!args.double_star);
        args.double_star = ParseExpression();
      } else if (Current().type == Tok::kName && Look().IsOp("=")) {
        ensure(!args.double_star);
        AddKeyword(args);
      } else {
        ensure(!args.star && !args.double_star && args.keyword.empty());
        args.positional.push_back(ParseExpression());
      }
    }
    ExpectOp(")");
    return args;
  }

  void AddKeyword(CallArgs& args) {
    std::string key = Next().text;
    Next();
    for (auto& [name, value] : args.keyword) {
      if (name == key) Fail(StrCat("keyword argument repeated: ", key));
    }
    args.keyword.emplace_back(std::move(key), ParseExpression());
  }

  ExprPtr ParseCall(ExprPtr callee) {
    int line = Current().line;
    auto node = std::make_unique<Call>();
    node->callee = std::move(callee);
    node->args = ParseCallArgs();
    return Finish(std::move(node), line);
  }

  std::string DottedName() {
    std::string name = TakeName();
    while (SkipOp(".")) name += "." + TakeName();
    return name;
  }

  // ("|" name args?)*, the first bar left out when `inline_start`; null when there is none.
  ExprPtr ParseFilters(ExprPtr node, bool inline_start) {
    while (inline_start || Current().IsOp("|")) {
      if (!inline_start) Next();
      inline_start = false;
      auto filter = std::make_unique<Filter>();
      int line = Current().line;
      filter->name = DottedName();
      if (Current().IsOp("(")) filter->args = ParseCallArgs();
      filter->operand = std::move(node);
      node = Finish(std::move(filter), line);
    }
    return node;
  }

  bool StartsTestArgument() const {
    const Token& t = Current();
    if (t.type == Tok::kName) return t.text != "else" && t.text != "or" && t.text != "and";
    return t.type == Tok::kString || t.type == Tok::kInteger || t.type == Tok::kFloat ||
           t.IsOp("[") || t.IsOp("{");
  }

  ExprPtr ParseTest(ExprPtr operand) {
    int line = Next().line;
    bool negated = SkipName("not");
    auto test = std::make_unique<Test>();
    test->operand = std::move(operand);
    test->name = DottedName();
    if (Current().IsOp("(")) {
      test->args = ParseCallArgs();
    } else if (StartsTestArgument()) {
      if (Current().IsName("is")) Fail("You cannot chain multiple tests with is");
      Nest nest(*this);
      test->args.positional.push_back(ParsePostfix(ParsePrimary(false)));
    }
    ExprPtr node = Finish(std::move(test), line);
    return negated ? ParseUnaryNode(Unary::kNot, std::move(node), line) : std::move(node);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;        // loops that a break here could leave
  int loop_bodies_ = 0;  // loops around this place at all
  std::vector<std::string> tags_;
};

}  // namespace

Body ParseTemplate(std::string_view source) { return Parser(source).Parse(); }

}  // namespace moxie::text::jinja
