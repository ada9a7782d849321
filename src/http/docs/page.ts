import { escapeHtml } from '../../lib/html/html.ts';
import {
  type ApiDocument,
  type ApiOperation,
  type ApiResponse,
  anchorOf,
  fieldTable,
  markdown,
  nameIn,
  readDocument,
  typeOf,
} from './document.ts';

const JSON_TYPE = 'application/json';
const ID = /\{(\w+)\}/g;

/** Quotes a text for a shell: single quotes, with those inside escaped. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Body {
  readonly type: string;
  readonly value: unknown;
}

/** curl sends a form by default, so only other content types need a header. */
const bodyWords = ({ type, value }: Body): readonly string[] =>
  type === JSON_TYPE
    ? [`-H 'Content-Type: ${JSON_TYPE}'`, `-d ${quoted(JSON.stringify(value, null, 2))}`]
    : [`-d ${quoted(new URLSearchParams(value as Record<string, string>).toString())}`];

/** An operation as a command line. @param body absent: none. */
const curl = (
  { method, url }: { readonly method: string; readonly url: string },
  { security, parameters }: ApiOperation,
  body?: Body,
): string => {
  const example = (name: string): string => {
    const prefix = /^\^(\w+)_/.exec(parameters.find((one) => one.name === name)?.schema.pattern ?? '')?.[1];
    return prefix === undefined ? `{${name}}` : `${prefix}_…`;
  };
  const target = url.replaceAll(ID, (_, name: string) => example(name));
  const idempotent = parameters.some(({ name }) => name === 'Idempotency-Key');
  return [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}${quoted(target)}`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $OUTBOX_KEY"'] : []),
    ...(idempotent ? [`-H 'Idempotency-Key: order-1'`] : []),
    ...(body === undefined ? [] : bodyWords(body)),
  ].join(' \\\n  ');
};

/** An operation and where it is. */
interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

const parameterTable = ({ parameters }: ApiOperation): string => {
  if (parameters.length === 0) return '';
  const rows = parameters.map(
    ({ name, in: place, required, schema, description }) =>
      `<tr><td><code>${escapeHtml(name)}</code>${required ? ' <b title="required">*</b>' : ''}<br><small>${escapeHtml(place)}</small></td>` +
      `<td>${typeOf(schema)}${description === '' ? '' : markdown(description)}</td></tr>`,
  );
  return `<h4>Parameters</h4><table>${rows.join('')}</table>`;
};

const requestBody = ({ requestBody: body }: ApiOperation, { components }: ApiDocument): string => {
  const [type, content] = Object.entries(body?.content ?? {})[0] ?? [];
  if (body === undefined || content === undefined) return '';
  const declared = type === JSON_TYPE ? '' : `<p><code>${escapeHtml(Object.keys(body.content).join(', '))}</code></p>`;
  return `<h4>Body${body.required ? '' : ' (optional)'}</h4>${declared}${fieldTable(content.schema, components.schemas)}`;
};

const examples = ({ method, path, operation }: PlacedOperation, { servers }: ApiDocument): string => {
  const url = (servers[0]?.url ?? '') + path;
  const [type = JSON_TYPE, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const given = Object.values(content?.examples ?? {});
  const commands =
    given.length === 0
      ? [{ summary: 'Example', text: curl({ method, url }, operation) }]
      : given.map(({ summary, value }) => ({ summary, text: curl({ method, url }, operation, { type, value }) }));
  return commands.map(({ summary, text }) => `<h4>${escapeHtml(summary)}</h4><pre>${escapeHtml(text)}</pre>`).join('');
};

const resolve = (response: ApiOperation['responses'][string], document: ApiDocument): ApiResponse | undefined =>
  '$ref' in response ? document.components.responses[nameIn(String(response.$ref))] : (response as ApiResponse);

const responseRow = (status: string, response: ApiResponse): string => {
  const [type, content] = Object.entries(response.content ?? {})[0] ?? [];
  const body =
    type === 'application/json' && content !== undefined && status < '400' ? ` ${typeOf(content.schema)}` : '';
  const headers = Object.keys(response.headers).filter(
    (name) => name !== 'X-Request-Id' && !name.startsWith('RateLimit'),
  );
  const told =
    headers.length === 0 ? '' : `<small>${headers.map((name) => `<code>${escapeHtml(name)}</code>`).join(' ')}</small>`;
  return `<tr><td><code>${status}</code>${body}</td><td>${markdown(response.description)}${told}</td></tr>`;
};

const responses = (operation: ApiOperation, document: ApiDocument): string => {
  const rows = Object.entries(operation.responses).flatMap(([status, one]) => {
    const response = resolve(one, document);
    return response === undefined ? [] : [responseRow(status, response)];
  });
  return `<h4>Answers</h4><table>${rows.join('')}</table>`;
};

/** Describes a webhook request, which we send: example data instead of a command. */
const webhookSection = (operation: ApiOperation, document: ApiDocument): string => {
  const given = Object.values(operation.requestBody?.content[JSON_TYPE]?.examples ?? {});
  return `<section id="${escapeHtml(operation.operationId)}">
<h3>${escapeHtml(operation.summary)}</h3>
${markdown(operation.description)}
${parameterTable(operation)}
${requestBody(operation, document)}
${given.map(({ summary, value }) => `<h4>${escapeHtml(summary)}</h4><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`).join('')}
${responses(operation, document)}
</section>`;
};

/** Everything about one operation, with an anchor of its name. */
const operationSection = (placed: PlacedOperation, document: ApiDocument): string => {
  const { method, path, operation } = placed;
  return `<section id="${escapeHtml(operation.operationId)}">
<h3><a href="#${escapeHtml(operation.operationId)}"><span class="method">${method}</span> ${escapeHtml(path)}</a></h3>
<p class="summary">${escapeHtml(operation.summary)}</p>
${markdown(operation.description)}
${parameterTable(operation)}
${requestBody(operation, document)}
${examples(placed, document)}
${responses(operation, document)}
</section>`;
};

/** For a phone and for a wide screen, for day and for night; nothing is loaded. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #636c76; --line: #d8dee4; --paper: #fff; --shade: #f5f7f9; --link: #0757b8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dbe1e8; --quiet: #98a2ad; --line: #343b43; --paper: #14181d; --shade: #1d2229; --link: #78b2ff; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
main { max-width: 54rem; padding: 1rem 1.25rem 6rem; }
nav { padding: 1rem 1.25rem; border-bottom: 1px solid var(--line); font-size: .9rem; }
nav ul { list-style: none; margin: .2rem 0 .9rem; padding: 0; }
nav b { color: var(--quiet); font-weight: 600; }
nav summary { cursor: pointer; font-weight: 600; }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 18rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow: auto; border-bottom: 0; border-right: 1px solid var(--line); }
  nav details::details-content { content-visibility: visible; block-size: auto; }
  nav summary { list-style: none; pointer-events: none; }
  main { padding-left: 2.5rem; }
}
a { color: var(--link); } nav a, h3 a { text-decoration: none; } nav a:hover, h3 a:hover { text-decoration: underline; }
h1 { font-size: 1.9rem; line-height: 1.2; } h2 { font-size: 1.35rem; margin: 2.5rem 0 .5rem; }
h3 { font: 600 1.02rem/1.4 ui-monospace, monospace; margin: 0; } h3 a { color: inherit; }
h4 { font-size: .95rem; margin: 1.4rem 0 .4rem; }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 1.4rem; }
.method { color: var(--link); } .summary { font-size: 1.08rem; margin: .3rem 0; } small { color: var(--quiet); }
code, pre { font-family: ui-monospace, monospace; font-size: .86em; }
pre { background: var(--shade); padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: .4rem; user-select: all; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
td, th { overflow-wrap: anywhere; text-align: left; vertical-align: top; padding: .45rem .8rem .45rem 0; border-bottom: 1px solid var(--line); }
@media (min-width: 64rem) { td:first-child { white-space: nowrap; } } td p, td ul { margin: .15rem 0; } td ul { padding-left: 1.1rem; }
td b { color: #c4432b; }
.d1 { padding-left: 1.2rem; } .d2 { padding-left: 2.4rem; } .d3 { padding-left: 3.6rem; } .d4, .d5, .d6 { padding-left: 4.8rem; }
`;

const placedIn = ({ paths }: ApiDocument): readonly PlacedOperation[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

const ofTag = (placed: readonly PlacedOperation[], tag: string): readonly PlacedOperation[] =>
  placed.filter(({ operation }) => operation.tags.includes(tag));

const links = (entries: readonly (readonly [anchor: string, text: string])[]): string =>
  `<ul>${entries.map(([anchor, text]) => `<li><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`).join('')}</ul>`;

const headingsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);

const contents = (document: ApiDocument, placed: readonly PlacedOperation[]): string => {
  const tags = document.tags.map(({ name }) => {
    const operations = ofTag(placed, name).map(({ operation: { operationId } }) => [operationId, operationId] as const);
    return `<b>${escapeHtml(name)}</b>${links(operations)}`;
  });
  const schemas = Object.keys(document.components.schemas).map((name) => [name, name] as const);
  return `<nav><details><summary>Contents</summary>
${links(headingsOf(document.info.description).map((heading) => [anchorOf(heading), heading]))}
${tags.join('\n')}<b><a href="#${anchorOf(POSTS)}">${POSTS}</a></b><br><b>Bodies by name</b>${links(schemas)}</details></nav>`;
};

const tagSection = (
  document: ApiDocument,
  placed: readonly PlacedOperation[],
  tag: ApiDocument['tags'][number],
): string =>
  `<h2 id="${escapeHtml(anchorOf(`tag ${tag.name}`))}">${escapeHtml(tag.name)}</h2><p>${escapeHtml(tag.description)}</p>` +
  ofTag(placed, tag.name)
    .map((one) => operationSection(one, document))
    .join('\n');

const POSTS = 'What webhooks are sent';

const postsIn = ({ webhooks }: ApiDocument): readonly ApiOperation[] => Object.values(webhooks).flatMap(Object.values);

const postSections = (document: ApiDocument): string =>
  `<h2 id="${anchorOf(POSTS)}">${POSTS}</h2>${postsIn(document)
    .map((one) => webhookSection(one, document))
    .join('\n')}`;

const schemaSections = (document: ApiDocument): string =>
  Object.entries(document.components.schemas)
    .map(
      ([name, schema]) =>
        `<section id="${escapeHtml(name)}"><h3>${escapeHtml(name)}</h3>${fieldTable(schema, document.components.schemas)}</section>`,
    )
    .join('\n');

/** The OpenAPI document as one page of HTML that needs nothing else. */
export const docsPage = (source: unknown): string => {
  const document = readDocument(source);
  const placed = placedIn(document);
  const title = escapeHtml(document.info.title);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${STYLE}</style>
</head>
<body>
${contents(document, placed)}
<main>
<h1>${title}</h1>
<p>For programs: <a href="/openapi.json">openapi.json</a></p>
${markdown(document.info.description)}
${document.tags.map((tag) => tagSection(document, placed, tag)).join('\n')}
${postSections(document)}
<h2 id="bodies-by-name">Bodies by name</h2>
${schemaSections(document)}
</main>
</body>
</html>
`;
};
