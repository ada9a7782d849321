import { hash } from 'node:crypto';
import { escapeHtml } from '../../lib/html/html.ts';
import {
  type ApiDocument,
  type ApiOperation,
  anchorOf,
  bodyFields,
  markdown,
  name,
  nameIn,
  readDocument,
  schemasIn,
} from './document.ts';
import { type Context, operationSection, type PlacedOperation, webhookSection } from './operations.ts';
import { capitalized } from './sdk-call.ts';
import { createSearch, QUERY_MAX, type SearchEntry } from './search.ts';
import { LANGUAGES } from './snippets.ts';
import { STYLE } from './style.ts';

/**
 * The OpenAPI document as pages of HTML that need nothing else: one for each tag, and a first one with the general rules,
 * every operation and every object. Each anchor of the first page was one of the whole reference when it was one page,
 * so that earlier links still lead to the right entry. Languages are radio buttons and CSS; the service answers a search.
 */

const shownLanguages = LANGUAGES.map(([id]) => `body:has(#${id}:checked) .code:not(.${id})`).join(', ');
const CSS = STYLE.replace('SHOWN_LANGUAGE', `${shownLanguages} { display: none; }`);

/** Nothing is loaded, run or framed; the form posts to the service alone. */
export const POLICY =
  `default-src 'none'; style-src 'sha256-${hash('sha256', CSS, 'base64')}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'";

const POSTS = 'What webhooks are sent';
/** The page that also describes what webhooks are sent. */
const WEBHOOKS = 'webhooks';

/** `API keys` of `api-keys`. */
const titleOf = (tag: string): string => {
  const words = tag.replaceAll('-', ' ').replace(/\bapi\b/, 'API');
  return capitalized(words);
};

const hrefOf = (tag: string): string => `/docs/${tag}`;

const link = (href: string, text: string, current = false): string =>
  `<a href="${escapeHtml(href)}"${current ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a>`;

interface Reference extends Context {
  readonly byTag: ReadonlyMap<string, readonly PlacedOperation[]>;
  readonly posts: readonly ApiOperation[];
  /** The tag on whose page each schema is described. */
  readonly homes: ReadonlyMap<string, string>;
}

const placedIn = ({ paths }: ApiDocument): readonly PlacedOperation[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

/** Bodies by the first operation that accepts them, where they are described. */
const bodyOwners = (placed: readonly PlacedOperation[]): ReadonlyMap<string, string> => {
  const owners = new Map<string, string>();
  for (const { operation } of placed) {
    const { $ref = '' } = Object.values(operation.requestBody?.content ?? {})[0]?.schema ?? {};
    if ($ref !== '' && !owners.has(nameIn($ref))) owners.set(nameIn($ref), operation.operationId);
  }
  return owners;
};

/** The tag that first uses each schema; the last one has what only unknown paths answer. */
const homesOf = ({ document, byTag, posts }: Pick<Reference, 'document' | 'byTag' | 'posts'>) => {
  const homes = new Map<string, string>();
  const settle = (schema: string, tag: string): void => {
    if (!homes.has(schema)) homes.set(schema, tag);
  };
  for (const [tag, operations] of byTag)
    for (const schema of schemasIn([operations, tag === WEBHOOKS ? posts : []], document)) settle(schema, tag);
  const last = document.tags.at(-1)?.name ?? '';
  for (const schema of Object.keys(document.components.schemas)) settle(schema, last);
  return homes;
};

const readReference = (source: unknown): Reference => {
  const document = readDocument(source);
  const placed = placedIn(document);
  const posts = Object.values(document.webhooks).flatMap(Object.values);
  const byTag = new Map(
    document.tags.map((tag) => [tag.name, placed.filter(({ operation }) => operation.tags.includes(tag.name))]),
  );
  const homes = homesOf({ document, byTag, posts });
  const locate = (schema: string): string => `${hrefOf(homes.get(schema) ?? '')}#${schema}`;
  return { document, byTag, posts, homes, owners: bodyOwners(placed), locate };
};

const objectsOf = ({ document, homes, owners }: Reference, tag: string): readonly string[] =>
  Object.keys(document.components.schemas).filter((schema) => homes.get(schema) === tag && !owners.has(schema));

const groupsOf = ({ document }: Reference) =>
  document['x-tagGroups'].filter(({ tags }) => tags.length > 0) as readonly {
    readonly name: string;
    readonly tags: readonly string[];
  }[];

const operationLinks = (operations: readonly PlacedOperation[]): string =>
  `<ul>${operations.map(({ operation }) => `<li>${link(`#${operation.operationId}`, operation.summary)}</li>`).join('')}</ul>`;

const contents = (reference: Reference, current: string): string => {
  const entry = (tag: string): string =>
    `<li>${link(hrefOf(tag), titleOf(tag), tag === current)}${tag === current ? operationLinks(reference.byTag.get(tag) ?? []) : ''}</li>`;
  const groups = groupsOf(reference).map(
    ({ name: group, tags }) => `<b>${escapeHtml(group)}</b><ul>${tags.map(entry).join('')}</ul>`,
  );
  return `<nav class="contents" aria-label="Reference" tabindex="0"><details class="menu"><summary>Contents</summary>
<ul><li>${link('/docs', 'Introduction', current === '')}</li></ul>${groups.join('\n')}</details></nav>`;
};

const languages = (): string =>
  `<fieldset class="languages"><legend class="hidden">Language of the examples</legend>${LANGUAGES.map(
    ([id, label], index) =>
      `<input type="radio" name="language" id="${id}"${index === 0 ? ' checked' : ''}><label for="${id}">${label}</label>`,
  ).join('')}</fieldset>`;

interface Sheet {
  readonly title: string;
  /** The tag of the page; empty: the first page, or results. */
  readonly current: string;
  readonly main: string;
  readonly query?: string;
}

const sheet = (reference: Reference, { title, current, main, query = '' }: Sheet): string => {
  const brand = escapeHtml(reference.document.info.title);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · ${brand} API</title><style>${CSS}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><a class="brand" href="/docs">${brand} API</a>
<form action="/docs" role="search"><input type="search" name="q" maxlength="${QUERY_MAX}" value="${escapeHtml(query)}" placeholder="Search" aria-label="Search the reference"></form>
${current === '' ? '' : languages()}</header>
<div class="shell">
${contents(reference, current)}
<main id="main">
${main}
</main>
</div>
</body>
</html>
`;
};

const objectSection = (schema: string, { document, locate }: Reference): string =>
  `<section class="object" id="${escapeHtml(schema)}"><h3>${name(schema)}</h3>${bodyFields(document.components.schemas[schema] ?? {}, locate)}</section>`;

/** Links to the pages before and after. */
const turn = (reference: Reference, tag: string): string => {
  const tags = [...reference.byTag.keys()];
  const at = tags.indexOf(tag);
  const [before, after] = [tags[at - 1], tags[at + 1]];
  const back = before === undefined ? link('/docs', '← Introduction') : link(hrefOf(before), `← ${titleOf(before)}`);
  return `<div class="turn">${back}${after === undefined ? '' : link(hrefOf(after), `${titleOf(after)} →`)}</div>`;
};

const tagPage = (reference: Reference, tag: ApiDocument['tags'][number]): string => {
  const operations = reference.byTag.get(tag.name) ?? [];
  const objects = objectsOf(reference, tag.name);
  const posts =
    tag.name === WEBHOOKS
      ? `<h2 id="${anchorOf(POSTS)}">${POSTS}</h2>${reference.posts.map((one) => webhookSection(one, reference)).join('')}`
      : '';
  const main = [
    `<h1>${escapeHtml(titleOf(tag.name))}</h1>${markdown(tag.description).replace('<p>', '<p class="lead">')}`,
    '<h2 id="operations">Operations</h2>',
    ...operations.map((one) => operationSection(one, reference)),
    posts,
    objects.length === 0 ? '' : '<h2 id="objects">Objects</h2>',
    ...objects.map((schema) => objectSection(schema, reference)),
    turn(reference, tag.name),
  ];
  return sheet(reference, { title: titleOf(tag.name), current: tag.name, main: main.join('\n') });
};

const firstPage = (reference: Reference): string => {
  const { document, byTag, posts, locate } = reference;
  const about = new Map(document.tags.map((tag) => [tag.name, tag.description]));
  const card = (tag: string): string =>
    `<li id="${escapeHtml(anchorOf(`tag ${tag}`))}">${link(hrefOf(tag), titleOf(tag))}<p>${escapeHtml(about.get(tag) ?? '')}</p></li>`;
  const cards = groupsOf(reference).map(
    ({ name: group, tags }) => `<h2>${escapeHtml(group)}</h2><ul class="cards">${tags.map(card).join('')}</ul>`,
  );
  const entry = (tag: string, { operationId, summary }: ApiOperation): string =>
    `<li id="${escapeHtml(operationId)}">${link(`${hrefOf(tag)}#${operationId}`, summary)}</li>`;
  const all = [...byTag].map(([tag, operations]) => {
    const entries = operations.map(({ operation }) => entry(tag, operation));
    return `<h3>${escapeHtml(titleOf(tag))}</h3><ul class="columns">${entries.join('')}</ul>`;
  });
  const objects = Object.keys(document.components.schemas).map(
    (schema) => `<li id="${escapeHtml(schema)}"><a href="${escapeHtml(locate(schema))}">${name(schema)}</a></li>`,
  );
  const [intro = '', ...rules] = document.info.description.split(/^(?=## )/m);
  const main = `<h1>API reference</h1>
${markdown(intro.trim()).replace('<p>', '<p class="lead">')}
<p>For programs: <a href="/openapi.json">openapi.json</a></p>
${markdown(rules.join('').trim())}
${cards.join('\n')}
<h2 id="operations">Every operation</h2>
${all.join('\n')}
<h3 id="${anchorOf(POSTS)}">${POSTS}</h3><ul class="columns">${posts.map((post) => entry(WEBHOOKS, post)).join('')}</ul>
<h2 id="bodies-by-name">Every object</h2><ul class="columns">${objects.join('')}</ul>`;
  return sheet(reference, { title: 'Reference', current: '', main });
};

/** Names of all fields in a schema, for the search. */
const fieldNames = (part: unknown): string =>
  [...JSON.stringify(part ?? {}).matchAll(/"(\w+)":\{/g)].map(([, field]) => field).join(' ');

const plain = (text: string): string => text.replaceAll('`', '').replaceAll(/\s+/g, ' ');

const entriesOf = ({ document, byTag, posts, owners, locate }: Reference): readonly SearchEntry[] => {
  const { schemas } = document.components;
  const operationEntry = (tag: string, { operation, method, path }: PlacedOperation): SearchEntry => ({
    title: operation.summary,
    href: `${hrefOf(tag)}#${operation.operationId}`,
    subtitle: `${method} ${path}`,
    description: plain(operation.description),
    words: [
      operation.operationId,
      ...operation.parameters.map((parameter) => parameter.name),
      ...[...schemasIn(operation.requestBody, { components: { ...document.components, schemas: {} } })].map((schema) =>
        fieldNames(schemas[schema]),
      ),
    ].join(' '),
  });
  const rules = document.info.description.split(/^## /m).slice(1);
  return [
    ...[...byTag].flatMap(([tag, operations]) => operations.map((one) => operationEntry(tag, one))),
    ...posts.map((operation) => operationEntry(WEBHOOKS, { operation, method: 'POST', path: 'to your URL' })),
    ...rules.map((rule) => {
      const [title = '', ...text] = rule.split('\n');
      const description = plain(text.join('\n'));
      return { title, href: `/docs#${anchorOf(title)}`, subtitle: 'Introduction', description, words: '' };
    }),
    ...Object.entries(schemas)
      .filter(([schema]) => !owners.has(schema))
      .map(([title, schema]) => ({
        title,
        href: locate(title),
        subtitle: 'Object',
        description: plain(schema.description ?? ''),
        words: fieldNames(schema),
      })),
  ];
};

/** Longer makes results harder to compare. */
const EXCERPT_MAX = 180;

const excerpt = (text: string): string =>
  text.length <= EXCERPT_MAX ? text : `${text.slice(0, text.lastIndexOf(' ', EXCERPT_MAX))} …`;

const resultItem = ({ title, href, subtitle, description }: SearchEntry): string =>
  `<li>${link(href, title)}<p class="endpoint">${name(subtitle)}</p><p>${escapeHtml(excerpt(description))}</p></li>`;

const resultsPage = (reference: Reference, query: string, results: readonly SearchEntry[]): string => {
  const count = results.length === 1 ? '1 result' : `${results.length} results`;
  const shown =
    results.length === 0
      ? '<p>Nothing found. Try fewer words, a path or the name of a field.</p>'
      : `<ol class="results">${results.map(resultItem).join('')}</ol>`;
  const main = `<h1>Search</h1><p class="lead">${count} for “${escapeHtml(query)}”</p>${shown}`;
  return sheet(reference, { title: 'Search', current: '', main, query });
};

export interface ReferencePages {
  readonly first: () => string;
  /** Names of the other pages. */
  readonly names: readonly string[];
  readonly page: (name: string) => string;
  readonly search: (query: string) => string;
}

/** Reads the document once. Each page is made when it is asked for. @throws {z.ZodError} it is not our document. */
export const referencePages = (source: unknown): ReferencePages => {
  const reference = readReference(source);
  const { tags } = reference.document;
  const find = createSearch(entriesOf(reference));
  return {
    first: () => firstPage(reference),
    names: tags.map((tag) => tag.name),
    page: (wanted) => tagPage(reference, tags.find((tag) => tag.name === wanted) ?? { name: wanted, description: '' }),
    search: (query) => {
      const cut = query.slice(0, QUERY_MAX).replaceAll(/\p{C}/gu, ' ').trim();
      return resultsPage(reference, cut, find(cut));
    },
  };
};
