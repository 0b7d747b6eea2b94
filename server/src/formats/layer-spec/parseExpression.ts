/**
 * Reads calls in PyTorch style and the expressions inside them, by recursive descent.
 *
 * Recovers: an argument that cannot be read is left out with an issue at its place, and the others are kept.
 */

import type { Issue, TextSpan } from '../../model/issue.ts';
import { didYouMean, nearestName } from '../../model/nearestName.ts';
import { findMark, type MarkDefinition, markDefinitions } from './marks.ts';
import type {
  Argument,
  BinaryOperator,
  BlockParameter,
  Expression,
  LayerCall,
  Mark,
  Name,
  Reference,
} from './syntax.ts';
import { type Token, tokenize } from './tokenize.ts';

export interface Parsed<Result> {
  readonly result: Result | undefined;
  readonly issues: readonly Issue[];
}

/** `Conv2d(64, kernel_size=3) * 2 from stem frozen` in `text[start, end)`. */
export function parseCall(text: string, start: number, end: number): Parsed<LayerCall> {
  const parser = new Parser(tokenize(text, start, end));
  const result = parser.call(text.slice(start, end));
  return { result, issues: parser.issues };
}

/** An expression such as `4*d` or `(3, 224, 224)`. */
export function parseExpression(text: string, start: number, end: number): Parsed<Expression> {
  const parser = new Parser(tokenize(text, start, end));
  const result = parser.expression();
  if (result !== undefined) parser.expectEnd('an expression');
  return { result, issues: parser.issues };
}

/** The key of a block. */
export interface Signature {
  readonly name: Name;
  readonly parameters: readonly BlockParameter[];
  readonly inputs: readonly Name[];
  readonly outputs: readonly Reference[];
}

/** `bottleneck`, `bottleneck(width, stride=1)` or `attention(d) from query, memory to out, weights`. */
export function parseSignature(text: string, start: number, end: number): Parsed<Signature> {
  const parser = new Parser(tokenize(text, start, end));
  const result = parser.signature();
  return { result, issues: parser.issues };
}

/** `fc`, or `q, k, v` where a layer has several outputs: the key of a layer. */
export function parseNames(text: string, start: number, end: number): Parsed<readonly Name[]> {
  const parser = new Parser(tokenize(text, start, end));
  const result = parser.names();
  return { result, issues: parser.issues };
}

/** `stem` or `lstm.h_n`: a tensor that leaves the model. */
export function parseReference(text: string, start: number, end: number): Parsed<Reference> {
  const parser = new Parser(tokenize(text, start, end));
  const result = parser.reference('the name of a layer or input');
  if (result !== undefined) parser.expectEnd('the name');
  return { result, issues: parser.issues };
}

/** `int64[batch, seq]`: the type of an input. `float32[]` is a scalar. */
export function parseTensorType(
  text: string,
  start: number,
  end: number,
): Parsed<{ readonly elementType: Name; readonly dimensions: readonly Expression[] }> {
  const parser = new Parser(tokenize(text, start, end));
  const result = parser.tensorType();
  return { result, issues: parser.issues };
}

/** Nesting beyond this is no layer call; it keeps hostile text from exhausting the stack. */
const deepestNesting = 64;
/** A sum or product longer than this is no size; what reads it recurses along its operands. */
const mostOperands = 256;

/** What people put before a layer or function as Python does, though it is no tensor. */
const pythonModules: ReadonlySet<string> = new Set(
  'torch nn F functional self torchvision tv ops np numpy math timm einops transformers tf keras jax jnp'.split(
    ' ',
  ),
);

/** Calls in the place of operators between tensors. */
const functionOf: ReadonlyMap<string, string> = new Map([
  ['+', 'add'],
  ['-', 'sub'],
  ['*', 'mul'],
  ['/', 'div'],
  ['@', 'matmul'],
  ['**', 'pow'],
]);

type Bracket = ')' | ']' | '}' | '>';

/** Brackets of other languages in which arguments stand, with those that close them. */
const otherBrackets: ReadonlyMap<string, Bracket> = new Map([
  ['[', ']'],
  ['{', '}'],
  ['<', '>'],
]);

/** Nobody writes a call or a shape of more; a file of nothing but commas would become hundreds of thousands of operators. */
const mostItems = 1_000;

class Parser {
  readonly issues: Issue[] = [];
  private position = 0;
  private depth = 0;
  /** An argument is a call of its own: without it, nobody knows what the layer does. */
  private holdsCall = false;

  constructor(private readonly tokens: readonly Token[]) {}

  call(written: string): LayerCall | undefined {
    const joined = this.joinedTensors(written);
    if (joined !== undefined || this.issues.length > 0) return joined;
    const { callee, receiver } = this.calledName();
    if (callee === undefined) {
      this.problem(this.token.span, this.whyNoCall());
      return undefined;
    }
    const open = this.token.span;
    if (this.at('[') && /^[a-z]/.test(callee.text)) {
      this.subscript(callee, receiver);
      return undefined;
    }
    const given = this.at('(') ? this.arguments(')') : this.misplacedArguments(callee);
    // `x.view(8)` is `view(x, 8)`.
    const parsed = receiver === undefined ? given : [receiver, ...given];
    const argumentsSpan = { start: open.start, end: Math.max(open.start, this.previousEnd) };
    let repetition: Expression | undefined;
    let sources = this.calledAgain(callee);
    if (this.take('*')) repetition = this.unary();
    const marks: Mark[] = [];
    // Both orders read well, so both are read.
    while (this.token.kind === 'name') {
      if (sources.length === 0 && this.takeWord('from')) {
        sources = this.references('the name of a layer or input after `from`');
      } else if (!this.mark(marks)) break;
    }
    this.expectEndOfCall();
    if (this.holdsCall) return undefined;
    return { written, callee, arguments: parsed, argumentsSpan, repetition, sources, marks };
  }

  /**
   * `a + b` where a call belongs: what is wrong is said, and it is read as `add(a, b)`, so that the line keeps its cost.
   */
  private joinedTensors(written: string): LayerCall | undefined {
    const [left, operator, right, end] = this.tokens;
    const name = operator === undefined ? undefined : functionOf.get(operator.text);
    if (name === undefined || right === undefined || operator === undefined) return undefined;
    if (left?.kind !== 'name' && left?.kind !== 'number') return undefined;
    if (
      left.kind === 'name'
        ? right.kind !== 'name' && (operator.text === '*' || right.kind !== 'number')
        : right.kind !== 'name'
    ) {
      return undefined;
    }
    // `2 * decoder()` is a repetition.
    if (left.kind === 'number' && end?.text === '(') return undefined;
    const isWhole = end?.kind === 'end';
    const last = this.tokens.at(-1)?.span.start ?? right.span.end;
    const span = { start: left.span.start, end: isWhole ? right.span.end : last };
    const call = `\`${name}(${left.text}, ${isWhole ? right.text : '…'})\``;
    this.problem(span, `a layer is one call: write ${call} in the place of \`${operator.text}\``);
    this.position = this.tokens.length - 1;
    if (!isWhole) return undefined;
    const argumentOf = ({ kind, text, span: place }: Token): Argument => ({
      keyword: undefined,
      value:
        kind === 'number'
          ? { kind: 'number', value: Number(text.replaceAll('_', '')), span: place }
          : { kind: 'name', name: text, span: place },
      span: place,
    });
    return {
      written,
      callee: { text: name, span: operator.span },
      arguments: [argumentOf(left), argumentOf(right)],
      argumentsSpan: span,
      repetition: undefined,
      sources: [],
      marks: [],
    };
  }

  /** `Loss()(a, b)`, as Python calls a module: what a person means by it. */
  private calledAgain({ text }: Name): readonly Reference[] {
    if (!this.at('(')) return [];
    const { start } = this.token.span;
    const sources = this.arguments(')').flatMap(({ value }): readonly Reference[] => {
      if (value.kind === 'name') return [{ text: value.name, span: value.span, output: undefined }];
      return value.kind === 'member' ? [{ ...value.object, output: value.member }] : [];
    });
    const names = sources.map((source) => source.text).join(', ');
    const example = `\`${text}(…) from ${names === '' ? 'x' : names}\``;
    this.problem({ start, end: this.previousEnd }, `inputs stand behind \`from\`: ${example}`);
    return sources;
  }

  private expectEndOfCall(): void {
    const { kind, text } = this.token;
    const name = functionOf.get(text);
    const isArrow = text === '-' && this.tokens[this.position + 1]?.text === '>';
    if (isArrow || text === ',') {
      const end = this.tokens.at(-1)?.span.start ?? this.token.span.end;
      const span = { start: this.token.span.start, end };
      this.problem(
        span,
        'a layer is one call: write what follows on a line of its own, as `- name: Layer(…)`',
      );
      return;
    }
    if (kind === 'name' || kind === 'string' || (name === undefined && text !== '.')) {
      this.expectEnd('the call');
      return;
    }
    const next = this.tokens[this.position + 1]?.text ?? '';
    const example = name === undefined ? `${next}(…)` : `${name}(…, …)`;
    const end = this.tokens.at(-1)?.span.start ?? this.token.span.end;
    const span = { start: this.token.span.start, end };
    this.problem(span, `a layer is one call: write what follows on a line of its own, as \`${example}\``);
  }

  private whyNoCall(): string {
    if (this.ended) return 'the layer has no call; write one such as `Linear(768, 3072)`';
    const { kind, text } = this.token;
    const next = this.tokens[this.position + 1];
    const isRepetition = kind === 'number' && next?.text === '*';
    const hint = isRepetition
      ? `; a repetition stands behind the call: \`decoder() * ${text}\``
      : text === '-' && next?.kind === 'name'
        ? `; write \`neg(${next.text})\``
        : '';
    return `expected the name of a layer, found \`${text}\`${hint}`;
  }

  /** `x[:, 0]` and `x.shape[0]`: parts of a tensor and its sizes, as Python takes them. */
  private subscript({ text, span }: Name, receiver: Argument | undefined): void {
    const end = this.tokens.at(-1)?.span.start ?? span.end;
    const message =
      receiver !== undefined && text === 'shape'
        ? 'a size is no layer; write the dim, such as `batch`, where it is needed'
        : `\`${text}[…]\` is no call: parts of a tensor are taken by \`select\`, \`narrow\`, \`slice\` or \`split\`, and blocks are called with parentheses`;
    this.problem({ start: span.start, end }, message);
    this.position = this.tokens.length - 1;
  }

  /** What stands behind a name in the place of arguments in parentheses. */
  private misplacedArguments({ text, span }: Name): readonly Argument[] {
    const { token } = this;
    const close = token.kind === 'string' ? undefined : otherBrackets.get(token.text);
    if (close !== undefined) {
      const message = `\`${text}\` is called with parentheses, \`${text}(…)\`, not with \`${token.text}${close}\``;
      this.problem(token.span, message);
      return this.arguments(close);
    }
    const words = [...markDefinitions.map((mark) => mark.name), 'from'];
    const isWord = token.kind === 'name' && nearestName(token.text, words) !== undefined;
    if (isWord || !['name', 'number', 'string'].includes(token.kind)) {
      this.problem(span, `\`${text}\` is not called; write \`${text}()\``);
    } else {
      const end = this.tokens.at(-1)?.span.start ?? token.span.end;
      this.problem({ start: token.span.start, end }, `arguments stand in parentheses: \`${text}(…)\``);
      this.position = this.tokens.length - 1;
    }
    return [];
  }

  names(): readonly Name[] | undefined {
    const names: Name[] = [];
    do {
      const name = this.name();
      if (name === undefined) {
        this.problem(
          this.token.span,
          'a layer is named by letters, digits and `_`; several outputs by names with commas between them',
        );
        return names.length === 0 ? undefined : names;
      }
      names.push(name);
    } while (this.take(','));
    this.expectEnd('the name');
    return names;
  }

  reference(what: string): Reference | undefined {
    const name = this.name();
    if (name === undefined) {
      this.problem(this.token.span, `expected ${what}`);
      return undefined;
    }
    if (!this.at('.')) return { ...name, output: undefined };
    this.advance();
    const output = this.name();
    if (output === undefined) this.problem(this.token.span, `expected an output of \`${name.text}\``);
    return { ...name, output };
  }

  signature(): Signature | undefined {
    const name = this.name();
    if (name === undefined) {
      this.problem(
        this.token.span,
        'a block is named like a Python function, such as `bottleneck(width, stride=1)`',
      );
      return undefined;
    }
    const parameters: BlockParameter[] = [];
    if (this.at('(')) {
      for (const argument of this.arguments(')')) {
        if (argument.keyword !== undefined) {
          parameters.push({ name: argument.keyword, default: argument.value });
        } else if (argument.value.kind === 'name') {
          const { name: text, span } = argument.value;
          parameters.push({ name: { text, span }, default: undefined });
        } else {
          this.problem(
            argument.span,
            'a parameter of a block is a name, with `=` and a default where it has one',
          );
        }
      }
    }
    const inputs = this.takeWord('from') ? this.references('the name of an input of the block') : [];
    for (const { output } of inputs) {
      if (output !== undefined) this.problem(output.span, 'an input of a block is one name, without a dot');
    }
    const outputs = this.takeWord('to') ? this.references('the name of a layer of the block after `to`') : [];
    this.expectEnd('the block name');
    return { name, parameters, inputs: inputs.map(({ text, span }) => ({ text, span })), outputs };
  }

  tensorType(): { readonly elementType: Name; readonly dimensions: readonly Expression[] } | undefined {
    const elementType = this.name();
    if (elementType === undefined || !this.at('[')) {
      this.problem(this.token.span, 'an input has a type such as `float32[batch, 3, 224, 224]`');
      return undefined;
    }
    const dimensions: Expression[] = [];
    this.advance();
    this.list(']', () => {
      const dimension = this.expression();
      if (dimension !== undefined) dimensions.push(dimension);
      return dimension !== undefined;
    });
    this.expectEnd('the type');
    return { elementType, dimensions };
  }

  /** sum := product (('+' | '-') product)* */
  expression(): Expression | undefined {
    if (this.depth >= deepestNesting) {
      this.problem(this.token.span, 'the expression is nested too deeply');
      return undefined;
    }
    this.depth += 1;
    const result = this.binary(['+', '-'], () => this.binary(['*', '/', '//', '%'], () => this.unary()));
    this.depth -= 1;
    return result;
  }

  expectEnd(what: string): void {
    if (this.ended) return;
    const last = this.tokens[this.tokens.length - 1];
    const span = { start: this.token.span.start, end: last?.span.end ?? this.token.span.end };
    this.problem(span, `unexpected \`${this.token.text}\` after ${what}`);
  }

  private binary(
    operators: readonly BinaryOperator[],
    operand: () => Expression | undefined,
  ): Expression | undefined {
    let left = operand();
    for (let count = 0; left !== undefined; count += 1) {
      const operator = operators.find((candidate) => this.at(candidate));
      if (operator === undefined) return left;
      if (count >= mostOperands) {
        this.problem(this.token.span, `the expression has more than ${mostOperands} operands`);
        return undefined;
      }
      this.advance();
      const right = operand();
      if (right === undefined) return undefined;
      left = { kind: 'binary', operator, left, right, span: { start: left.span.start, end: right.span.end } };
    }
    return left;
  }

  /** unary := '-' unary | atom ('**' unary)? ; in a loop, so that many signs do not nest. */
  private unary(): Expression | undefined {
    const start = this.token.span.start;
    let negative = false;
    while (this.at('-') || this.at('+')) {
      if (this.at('-')) negative = !negative;
      this.advance();
    }
    let result = this.atom();
    if (result !== undefined && this.take('**')) {
      const exponent = this.depth >= deepestNesting ? undefined : this.nested(() => this.unary());
      if (exponent === undefined) return undefined;
      result = {
        kind: 'binary',
        operator: '**',
        left: result,
        right: exponent,
        span: { start: result.span.start, end: exponent.span.end },
      };
    }
    if (result === undefined || start === result.span.start) return result;
    const span = { start, end: result.span.end };
    if (!negative) return { ...result, span };
    if (result.kind === 'number') return { kind: 'number', value: -result.value, span };
    return { kind: 'negation', operand: result, span };
  }

  private nested<Result>(parse: () => Result): Result {
    this.depth += 1;
    const result = parse();
    this.depth -= 1;
    return result;
  }

  private atom(): Expression | undefined {
    const token = this.token;
    switch (token.kind) {
      case 'number':
        this.advance();
        return { kind: 'number', value: Number(token.text.replaceAll('_', '')), span: token.span };
      case 'string':
        this.advance();
        return { kind: 'string', value: token.text, span: token.span };
      case 'name':
        this.advance();
        if (token.text === 'True' || token.text === 'true')
          return { kind: 'boolean', value: true, span: token.span };
        if (token.text === 'False' || token.text === 'false') {
          return { kind: 'boolean', value: false, span: token.span };
        }
        if (token.text === 'None' || token.text === 'null') return { kind: 'none', span: token.span };
        return this.memberOf(token);
      default:
        break;
    }
    if (token.text === '(' || token.text === '[') return this.group(token.text === '(' ? ')' : ']');
    this.problem(
      token.span,
      token.kind === 'end'
        ? 'the text ends where a value is expected'
        : /^['"]/.test(token.text)
          ? `the text in quotes does not end; close it with \`${token.text[0]}\``
          : `expected a value, found \`${token.text}\``,
    );
    return undefined;
  }

  /** A name, or one output of the layer it names. */
  private memberOf({ text, span }: Token): Expression {
    if (!this.at('.')) return { kind: 'name', name: text, span };
    this.advance();
    const member = this.name();
    if (member === undefined) {
      this.problem(this.token.span, `expected an output of \`${text}\``);
      return { kind: 'name', name: text, span };
    }
    return {
      kind: 'member',
      object: { text, span },
      member,
      span: { start: span.start, end: member.span.end },
    };
  }

  /** `(a)` is a; `(a,)`, `(a, b)`, `()` and everything in square brackets are tuples. */
  private group(close: ')' | ']'): Expression | undefined {
    const start = this.token.span.start;
    this.advance();
    const items: Expression[] = [];
    const { commas, closed } = this.list(close, () => {
      const item = this.expression();
      if (item !== undefined) items.push(item);
      return item !== undefined;
    });
    if (!closed) return undefined;
    const span = { start, end: this.previousEnd };
    const [only] = items;
    if (close === ')' && items.length === 1 && commas === 0 && only !== undefined) return { ...only, span };
    return { kind: 'tuple', items, span };
  }

  private arguments(close: Bracket): readonly Argument[] {
    const parsed: Argument[] = [];
    this.advance();
    this.list(close, () => {
      const start = this.token.span.start;
      let keyword: Name | undefined;
      if (this.token.kind === 'name' && this.tokens[this.position + 1]?.text === '=') {
        keyword = { text: this.token.text, span: this.token.span };
        this.advance();
        this.advance();
      }
      const value = this.expression();
      if (value !== undefined) parsed.push({ keyword, value, span: { start, end: this.previousEnd } });
      return value !== undefined;
    });
    return parsed;
  }

  /**
   * Items up to `close`, separated by commas. An item that fails is skipped to the next comma at its depth; another
   * bracket that closes stands for the right one, unless that follows it.
   */
  private list(close: Bracket, item: () => boolean): { readonly commas: number; readonly closed: boolean } {
    let commas = 0;
    while (!this.closes(close)) {
      if (this.ended) {
        this.problem(this.token.span, `\`${close}\` is missing; write it here`);
        return { commas, closed: false };
      }
      if (commas >= mostItems) {
        const message = `there are more than ${mostItems} items before \`${close}\`; write fewer, in several lines`;
        this.problem(this.token.span, message);
        // What follows would be told to be wrong only because this list is.
        this.position = this.tokens.length - 1;
        return { commas, closed: false };
      }
      const read = this.isOtherClose(close) || item();
      if (this.isOtherClose(close)) {
        this.problem(this.token.span, `the list ends with \`${close}\`, not with \`${this.token.text}\``);
        this.advance();
        if (!this.closes(close)) return { commas, closed: true };
        continue;
      }
      if (!this.closes(close) && !this.at(',') && !this.ended) {
        const isCall = this.at('(') && this.tokens[this.position - 1]?.kind === 'name';
        const message = isCall
          ? 'an argument holds no call: a tensor gets a line of its own, a size is a dim, such as `batch`'
          : `expected \`,\` or \`${close}\`, found \`${this.token.text}\``;
        if (isCall) this.holdsCall = true;
        if (read) this.problem(this.token.span, message);
        this.skipItem(close);
      }
      if (this.take(',')) commas += 1;
      else if (!this.closes(close) && !this.ended) this.advance();
    }
    this.advance();
    return { commas, closed: true };
  }

  private closes(close: Bracket): boolean {
    return this.token.kind !== 'string' && this.token.text === close;
  }

  private isOtherClose(close: Bracket): boolean {
    return this.token.text !== close && (this.at(')') || this.at(']') || this.closes('}'));
  }

  private skipItem(close: Bracket): void {
    let open = 0;
    while (!this.ended) {
      if (open === 0 && (this.at(',') || this.at(')') || this.at(']') || this.closes(close))) return;
      if (this.at('(') || this.at('[')) open += 1;
      if (this.at(')') || this.at(']')) open -= 1;
      this.advance();
    }
  }

  private references(what: string): readonly Reference[] {
    const references: Reference[] = [];
    do {
      const reference = this.reference(what);
      if (reference === undefined) return references;
      references.push(reference);
    } while (this.take(','));
    return references;
  }

  /** `frozen` or `precision=fp32`. Whether it is a mark; a word that is none ends the call. */
  private mark(marks: Mark[]): boolean {
    const name = this.name();
    if (name === undefined) return false;
    const definition = findMark(name.text);
    if (definition === undefined) {
      const known = [...markDefinitions.map((mark) => mark.name), 'from'];
      const isTimes = /^[x×]$/i.test(name.text) && this.token.kind === 'number';
      const hint = isTimes
        ? `; a layer is repeated with \`* ${this.token.text}\``
        : didYouMean(name.text, known);
      this.problem(name.span, `unexpected \`${name.text}\` after the call${hint}`);
      // What follows would be told to be wrong only because this word is.
      this.position = this.tokens.length - 1;
      return false;
    }
    let value: Name | undefined;
    if (this.take('=')) {
      value = this.name();
      if (value === undefined) this.problem(this.token.span, `\`${name.text}\` needs a word after \`=\``);
    }
    if (marks.some((mark) => mark.name.text === name.text)) {
      this.problem(name.span, `\`${name.text}\` is already said`);
    }
    this.checkMark(definition, name, value);
    marks.push({ name, value });
    return true;
  }

  private checkMark(definition: MarkDefinition, name: Name, value: Name | undefined): void {
    const { values } = definition;
    if (values === undefined) {
      if (value !== undefined) {
        this.problem(value.span, `\`${name.text}\` stands alone; take \`=${value.text}\` out`);
      }
      return;
    }
    if (value === undefined) {
      this.problem(name.span, `\`${name.text}\` needs a value, one of ${values.join(', ')}`);
    } else if (!values.includes(value.text)) {
      this.problem(
        value.span,
        `\`${name.text}\` is one of ${values.join(', ')}, not \`${value.text}\`${didYouMean(value.text, values)}`,
      );
    }
  }

  private name(): Name | undefined {
    if (this.token.kind !== 'name') return undefined;
    const { text, span } = this.token;
    this.advance();
    return { text, span };
  }

  /** `torch.nn.Linear` gives `Linear`; `x.view` and `lstm.h_n.view` give `view`, called of a tensor. */
  private calledName(): { readonly callee: Name | undefined; readonly receiver: Argument | undefined } {
    const names: Name[] = [];
    for (let name = this.name(); name !== undefined; name = this.name()) {
      names.push(name);
      if (!this.at('.') || this.tokens[this.position + 1]?.kind !== 'name') break;
      this.advance();
    }
    const callee = names.at(-1);
    const [object, member] = names.slice(0, -1);
    const isMethod = callee !== undefined && /^[a-z]/.test(callee.text) && names.length <= 3;
    if (!isMethod || object === undefined || pythonModules.has(object.text)) {
      return { callee, receiver: undefined };
    }
    const span = { start: object.span.start, end: (member ?? object).span.end };
    const value: Expression =
      member === undefined
        ? { kind: 'name', name: object.text, span }
        : { kind: 'member', object, member, span };
    return { callee, receiver: { keyword: undefined, value, span } };
  }

  private at(text: string): boolean {
    return this.token.kind === 'punctuation' && this.token.text === text;
  }

  private take(text: string): boolean {
    if (!this.at(text)) return false;
    this.advance();
    return true;
  }

  private takeWord(word: string): boolean {
    if (this.token.kind !== 'name' || this.token.text !== word) return false;
    this.advance();
    return true;
  }

  private advance(): void {
    if (this.position < this.tokens.length - 1) this.position += 1;
  }

  private get ended(): boolean {
    return this.token.kind === 'end';
  }

  private get token(): Token {
    return this.tokens[this.position] ?? { kind: 'end', text: '', span: { start: 0, end: 0 } };
  }

  private get previousEnd(): number {
    return this.tokens[this.position - 1]?.span.end ?? this.token.span.start;
  }

  private problem(span: TextSpan, message: string): void {
    // One issue per place: a failure is often noticed by several rules on the way out.
    if (this.issues.some((issue) => issue.span?.start === span.start)) return;
    this.issues.push({ code: 'spec/call', severity: 'error', message, span });
  }
}
