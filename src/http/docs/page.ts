import { escapeHtml } from '../../domain/escape-html.ts';
import { type ApiDocument, type ApiOperation, readDocument } from './document.ts';
import { fieldTable } from './fields.ts';
import { anchorOf, markdown } from './markdown.ts';
import { operationSection, type Placed, webhookSection } from './operation-section.ts';
import { STYLE } from './style.ts';

const placedIn = ({ paths }: ApiDocument): readonly Placed[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

const ofTag = (placed: readonly Placed[], tag: string): readonly Placed[] =>
  placed.filter(({ operation }) => operation.tags.includes(tag));

const links = (entries: readonly (readonly [anchor: string, text: string])[]): string =>
  `<ul>${entries.map(([anchor, text]) => `<li><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`).join('')}</ul>`;

const headingsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);

const contents = (document: ApiDocument, placed: readonly Placed[]): string => {
  const tags = document.tags.map(({ name }) => {
    const operations = ofTag(placed, name).map(({ operation: { operationId } }) => [operationId, operationId] as const);
    return `<b>${escapeHtml(name)}</b>${links(operations)}`;
  });
  const schemas = Object.keys(document.components.schemas).map((name) => [name, name] as const);
  return `<nav><details><summary>Contents</summary>
${links(headingsOf(document.info.description).map((heading) => [anchorOf(heading), heading]))}
${tags.join('\n')}<b><a href="#${anchorOf(POSTS)}">${POSTS}</a></b><br><b>Bodies by name</b>${links(schemas)}</details></nav>`;
};

const tagSection = (document: ApiDocument, placed: readonly Placed[], tag: ApiDocument['tags'][number]): string =>
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
