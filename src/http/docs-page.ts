import { z } from 'zod';

const operationSchema = z.looseObject({
  summary: z.string().default(''),
  description: z.string().default(''),
  requestBody: z.unknown().optional(),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string(), schema: z.unknown() })).default([]),
  responses: z.record(z.string(), z.looseObject({ description: z.string().default('') })).default({}),
});
type Operation = z.output<typeof operationSchema>;

const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), description: z.string().default('') }),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
});

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
  h2 { font: 600 1rem/1.5 ui-monospace, monospace; margin: 0; display: inline; }
  details { border-top: 1px solid #ddd; padding: .6rem 0; }
  summary { cursor: pointer; }
  pre { background: #f5f5f5; padding: .8rem; overflow: auto; font-size: .85rem; white-space: pre-wrap; }
  table { border-collapse: collapse; } td { padding: .2rem 1rem .2rem 0; vertical-align: top; white-space: pre-line; }
  @media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } pre { background: #242424; } }
`;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

const json = (value: unknown): string => `<pre>${escaped(JSON.stringify(value, null, 2))}</pre>`;

const parameterRow = ({ name, in: place, schema }: Operation['parameters'][number]): string =>
  `<tr><td><code>${escaped(name)}</code></td><td>${escaped(place)}</td><td>${escaped(JSON.stringify(schema))}</td></tr>`;

const responseRow = ([status, { description }]: readonly [string, { readonly description: string }]): string =>
  `<tr><td>${escaped(status)}</td><td>${escaped(description)}</td></tr>`;

const section = (path: string, method: string, operation: Operation): string => `
  <details>
    <summary><h2>${escaped(method.toUpperCase())} ${escaped(path)}</h2> ${escaped(operation.summary)}</summary>
    <p>${escaped(operation.description)}</p>
    ${operation.parameters.length === 0 ? '' : `<h3>Parameters</h3><table>${operation.parameters.map(parameterRow).join('')}</table>`}
    ${operation.requestBody === undefined ? '' : `<h3>Body</h3>${json(operation.requestBody)}`}
    <h3>Answers</h3><table>${Object.entries(operation.responses).map(responseRow).join('')}</table>
  </details>`;

/** The OpenAPI document as one page of HTML that needs nothing else. */
export const docsPage = (document: unknown): string => {
  const { info, paths } = documentSchema.parse(document);
  const sections = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => section(path, method, operation)),
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(info.title)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(info.title)}</h1><p>${escaped(info.description)}</p><p>For programs: <a href="/openapi.json">openapi.json</a></p>${sections.join('')}</body>
</html>
`;
};
