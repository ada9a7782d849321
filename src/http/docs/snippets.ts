/**
 * One request in six languages, as code that runs as it is: curl, TypeScript (the SDK, or `fetch` where it has no such
 * function), Python, PHP, Go and Ruby with nothing but their standard libraries.
 */

export interface SampleRequest {
  readonly method: string;
  readonly baseUrl: string;
  /** With the query. */
  readonly path: string;
  readonly needsKey: boolean;
  readonly isIdempotent: boolean;
  /** A form has strings alone. */
  readonly body?: { readonly isForm: boolean; readonly value: unknown };
  readonly isJsonAnswer: boolean;
  /** Absent: it is not in the SDK. */
  readonly sdk?: SdkCall;
}

interface SdkCall {
  /** `messages.send` */
  readonly name: string;
  readonly ids: readonly string[];
  readonly query: Readonly<Record<string, unknown>>;
  /** It resolves to nothing. */
  readonly isVoid: boolean;
}

const IDEMPOTENCY_KEY = 'order-1';
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** How a language writes JSON. */
interface Literals {
  readonly indent: string;
  readonly object: readonly [open: string, close: string];
  readonly emptyObject: string;
  readonly list: readonly [open: string, close: string];
  readonly entry: (name: string, value: string) => string;
  readonly text: (text: string) => string;
  readonly words: Readonly<Record<'null' | 'true' | 'false', string>>;
  /** After the last item, too. */
  readonly trailingComma: boolean;
}

/** In single quotes, where only these and backslashes are escaped. */
const singleQuoted = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
/** The same; a text of several lines in double quotes, where `special` begins more than text. */
const singleOrDouble =
  (special: string) =>
  (text: string): string =>
    /[\r\n\t]/.test(text) ? JSON.stringify(text).replaceAll(special, `\\${special}`) : singleQuoted(text);
/** In single quotes with the escapes of JSON. */
const escaped = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const isName = (name: string): boolean => /^[a-z_]\w*$/i.test(name);

const WORDS = { null: 'null', true: 'true', false: 'false' };

const TYPESCRIPT: Literals = {
  indent: '  ',
  object: ['{', '}'],
  emptyObject: '{}',
  list: ['[', ']'],
  entry: (name, value) => `${isName(name) ? name : escaped(name)}: ${value}`,
  text: escaped,
  words: WORDS,
  trailingComma: true,
};
const PYTHON: Literals = {
  ...TYPESCRIPT,
  indent: '    ',
  entry: (name, value) => `${escaped(name)}: ${value}`,
  words: { null: 'None', true: 'True', false: 'False' },
};
const PHP: Literals = {
  ...TYPESCRIPT,
  indent: '    ',
  object: ['[', ']'],
  emptyObject: '(object) []',
  entry: (name, value) => `${singleQuoted(name)} => ${value}`,
  text: singleOrDouble('$'),
};
const GO: Literals = {
  ...TYPESCRIPT,
  indent: '\t',
  object: ['map[string]any{', '}'],
  emptyObject: 'map[string]any{}',
  list: ['[]any{', '}'],
  entry: (name, value) => `${JSON.stringify(name)}: ${value}`,
  text: (text) => JSON.stringify(text),
  words: { ...WORDS, null: 'nil' },
};
const RUBY: Literals = {
  ...TYPESCRIPT,
  entry: (name, value) => `${isName(name) ? name : singleQuoted(name)}: ${value}`,
  text: singleOrDouble('#'),
  words: { ...WORDS, null: 'nil' },
  trailingComma: false,
};

const nested = (items: readonly string[], [open, close]: readonly [string, string], by: Literals, margin: string) => {
  const inner = margin + by.indent;
  return `${open}\n${items.map((item) => inner + item).join(',\n')}${by.trailingComma ? ',' : ''}\n${margin}${close}`;
};

/** A shorter list of words is written on one line. */
const LINE_MAX = 60;

const listLiteral = (list: readonly unknown[], by: Literals, margin: string): string => {
  const items = list.map((item) => literal(item, by, margin + by.indent));
  const short = items.join(', ');
  const isShort = short.length < LINE_MAX && list.every((item) => typeof item !== 'object');
  return isShort ? `${by.list[0]}${short}${by.list[1]}` : nested(items, by.list, by, margin);
};

const objectLiteral = (value: object, by: Literals, margin: string): string => {
  const inner = margin + by.indent;
  const entries = Object.entries(value).map(([name, one]) => by.entry(name, literal(one, by, inner)));
  return entries.length === 0 ? by.emptyObject : nested(entries, by.object, by, margin);
};

/** A value as a literal. @param margin of the line on which it begins. */
const literal = (value: unknown, by: Literals, margin = ''): string => {
  if (typeof value === 'string') return by.text(value);
  if (Array.isArray(value)) return listLiteral(value, by, margin);
  if (typeof value === 'object' && value !== null) return objectLiteral(value, by, margin);
  return by.words[String(value) as keyof typeof WORDS] ?? String(value);
};

interface Header {
  readonly name: string;
  readonly value: string;
}

/** Headers besides the key. */
const headersOf = ({ isIdempotent, body }: SampleRequest): readonly Header[] => [
  ...(isIdempotent ? [{ name: 'Idempotency-Key', value: IDEMPOTENCY_KEY }] : []),
  ...(body === undefined ? [] : [{ name: 'Content-Type', value: body.isForm ? FORM_TYPE : JSON_TYPE }]),
];

const formOf = (value: unknown): string => new URLSearchParams(value as Record<string, string>).toString();

/** Quotes a text for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = (request: SampleRequest): string => {
  const { method, baseUrl, path, needsKey, body } = request;
  const payload = (): string => (body?.isForm ? formOf(body.value) : JSON.stringify(body?.value, null, 2));
  return [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}${quoted(baseUrl + path)}`,
    ...(needsKey ? ['-H "Authorization: Bearer $OUTBOX_API_KEY"'] : []),
    ...headersOf(request).map(({ name, value }) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(payload())}`]),
  ].join(' \\\n  ');
};

const sdkCode = ({ baseUrl, body, isJsonAnswer, isIdempotent }: SampleRequest, call: SdkCall): string => {
  const hasQuery = Object.keys(call.query).length > 0;
  const parts = [
    ...call.ids.map(escaped),
    ...(body === undefined ? [] : [literal(body.value, TYPESCRIPT)]),
    ...(hasQuery ? [literal(call.query, TYPESCRIPT)] : []),
    ...(isIdempotent ? [`{ idempotencyKey: '${IDEMPOTENCY_KEY}' }`] : []),
  ];
  const called = `await outbox.${call.name}(${parts.join(', ')})`;
  const shown = (): string => {
    if (call.isVoid) return `${called};`;
    if (isJsonAnswer) return `const answer = ${called};\nconsole.log(answer);`;
    return `const response = ${called};\nconsole.log(await response.text());`;
  };
  const setup = `import { createOutbox } from 'outbox-sdk';\n\nconst outbox = createOutbox({ baseUrl: '${baseUrl}' });`;
  return `${setup} // reads OUTBOX_API_KEY\n${shown()}`;
};

const fetchOptions = (request: SampleRequest): readonly string[] => {
  const { method, needsKey, body } = request;
  const headers = [
    ...(needsKey ? ["Authorization: 'Bearer ' + env.OUTBOX_API_KEY"] : []),
    ...headersOf(request).map(({ name, value }) => TYPESCRIPT.entry(name, escaped(value))),
  ];
  const encode = body?.isForm ? 'new URLSearchParams' : 'JSON.stringify';
  return [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: ${encode}(${literal(body.value, TYPESCRIPT, '  ')}),`]),
  ];
};

const typescript = (request: SampleRequest): string => {
  const { baseUrl, path, isJsonAnswer, sdk } = request;
  if (sdk !== undefined) return sdkCode(request, sdk);
  const options = fetchOptions(request);
  const more = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  const read = isJsonAnswer ? 'json' : 'text';
  const setup = request.needsKey ? "import { env } from 'node:process';\n\n" : '';
  return `${setup}const response = await fetch('${baseUrl}${path}'${more});\nconsole.log(await response.${read}());`;
};

const pythonBody = ({ body }: SampleRequest) => {
  if (body === undefined) return { packages: [], lines: [] };
  const value = literal(body.value, PYTHON, '    ');
  return body.isForm
    ? { packages: ['urllib.parse'], lines: [`    data=urllib.parse.urlencode(${value}).encode(),`] }
    : { packages: ['json'], lines: [`    data=json.dumps(${value}).encode(),`] };
};

const python = (request: SampleRequest): string => {
  const { method, baseUrl, path, needsKey } = request;
  const body = pythonBody(request);
  const headers = [
    ...(needsKey ? [`        'Authorization': 'Bearer ' + os.environ['OUTBOX_API_KEY'],`] : []),
    ...headersOf(request).map(({ name, value }) => `        '${name}': '${value}',`),
  ];
  return [
    ...['urllib.request', ...(needsKey ? ['os'] : []), ...body.packages].sort().map((one) => `import ${one}`),
    '',
    'request = urllib.request.Request(',
    `    '${baseUrl}${path}',`,
    `    method='${method}',`,
    ...(headers.length === 0 ? [] : ['    headers={', ...headers, '    },']),
    ...body.lines,
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.read().decode())',
  ].join('\n');
};

const php = (request: SampleRequest): string => {
  const { method, baseUrl, path, needsKey, body } = request;
  const headers = [
    ...(needsKey ? [`        'Authorization: Bearer ' . getenv('OUTBOX_API_KEY'),`] : []),
    ...headersOf(request).map(({ name, value }) => `        '${name}: ${value}',`),
  ];
  const encode = body?.isForm ? 'http_build_query' : 'json_encode';
  return [
    "$context = stream_context_create(['http' => [",
    `    'method' => '${method}',`,
    ...(headers.length === 0 ? [] : ["    'header' => [", ...headers, '    ],']),
    ...(body === undefined ? [] : [`    'content' => ${encode}(${literal(body.value, PHP, '    ')}),`]),
    ']]);',
    `echo file_get_contents('${baseUrl}${path}', false, $context);`,
  ].join('\n');
};

interface GoBody {
  readonly packages: readonly string[];
  readonly lines: readonly string[];
  readonly reader: string;
}

const goBody = ({ body }: SampleRequest): GoBody => {
  if (body === undefined) return { packages: [], lines: [], reader: 'nil' };
  if (!body.isForm) {
    const lines = [`body, _ := json.Marshal(${literal(body.value, GO, '\t')})`];
    return { packages: ['bytes', 'encoding/json'], lines, reader: 'bytes.NewReader(body)' };
  }
  const values = Object.entries(body.value as Record<string, string>).map(
    ([name, value]) => `${JSON.stringify(name)}: {${JSON.stringify(value)}}`,
  );
  const lines = [`body := url.Values{${values.join(', ')}}.Encode()`];
  return { packages: ['net/url', 'strings'], lines, reader: 'strings.NewReader(body)' };
};

const go = (request: SampleRequest): string => {
  const { method, baseUrl, path, needsKey } = request;
  const body = goBody(request);
  const packages = ['io', 'net/http', 'os', ...body.packages].sort();
  const lines = [
    ...body.lines,
    `request, _ := http.NewRequest("${method}", "${baseUrl}${path}", ${body.reader})`,
    ...(needsKey ? ['request.Header.Set("Authorization", "Bearer "+os.Getenv("OUTBOX_API_KEY"))'] : []),
    ...headersOf(request).map(({ name, value }) => `request.Header.Set("${name}", "${value}")`),
    'response, err := http.DefaultClient.Do(request)',
    'if err != nil {\n\t\tpanic(err)\n\t}',
    'defer response.Body.Close()',
    'io.Copy(os.Stdout, response.Body)',
  ];
  return `package main

import (
${packages.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
${lines.map((line) => `\t${line}`).join('\n')}
}`;
};

const ruby = (request: SampleRequest): string => {
  const { method, baseUrl, path, needsKey, body } = request;
  const kind = method.slice(0, 1) + method.slice(1).toLowerCase();
  const payload = (): string => {
    const value = literal(body?.value, RUBY);
    return body?.isForm ? `URI.encode_www_form(${value})` : `${value}.to_json`;
  };
  return [
    `${body === undefined || body.isForm ? '' : "require 'json'\n"}require 'net/http'\n`,
    `uri = URI('${baseUrl}${path}')`,
    `request = Net::HTTP::${kind}.new(uri)`,
    ...(needsKey ? [`request['Authorization'] = "Bearer #{ENV.fetch('OUTBOX_API_KEY')}"`] : []),
    ...headersOf(request).map(({ name, value }) => `request['${name}'] = '${value}'`),
    ...(body === undefined ? [] : [`request.body = ${payload()}`]),
    "response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https') { |http| http.request(request) }",
    'puts response.body',
  ].join('\n');
};

/** Languages by their name in the page, in the order of the tabs. */
export const LANGUAGES = [
  ['curl', 'curl', curl],
  ['typescript', 'TypeScript', typescript],
  ['python', 'Python', python],
  ['php', 'PHP', php],
  ['go', 'Go', go],
  ['ruby', 'Ruby', ruby],
] as const;
