import { escapeHtml } from '../../lib/html/html.ts';
import { type ApiDocument, type ApiOperation, type ApiResponse, nameIn } from './document.ts';
import { fieldTable, typeOf } from './fields.ts';
import { markdown } from './markdown.ts';

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
export interface PlacedOperation {
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
export const webhookSection = (operation: ApiOperation, document: ApiDocument): string => {
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
export const operationSection = (placed: PlacedOperation, document: ApiDocument): string => {
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
