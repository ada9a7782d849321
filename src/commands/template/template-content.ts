import { sha256Hex } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { templateStream } from '../../domain/kernel/streams.ts';
import type { Contents, MessageContents } from '../../domain/ports/contents.ts';
import {
  type CompiledContent,
  htmlOf,
  type Layout,
  type LocalizedHtml,
  sourceOf,
  type TemplateContent,
  variablesOf,
} from '../../domain/template/content.ts';
import {
  type ExistingTemplate,
  requireTemplate,
  requireVersion,
  requireVersions,
  type TemplateContentRef,
  template,
  templateIdOf,
} from '../../domain/template/template.ts';
import type { System } from '../../lib/async/async.ts';
import type { TemplateCompiler } from '../../lib/templates/templates.ts';
import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { load } from '../execute.ts';

/** Contents of templates: how they get into the vault and out of it. */

export interface NewContent {
  readonly ref: TemplateContentRef;
  /** For the append that names it. */
  readonly contents: readonly MessageContents[];
}

export const newContent = (
  { system }: { readonly system: Pick<System, 'uuid'> },
  organizationId: string,
  content: TemplateContent,
): NewContent => {
  const contentId = system.uuid();
  return {
    ref: { contentId, contentDigest: sha256Hex(canonicalJson(content)) },
    contents: [{ id: contentId, organizationId, body: { kind: 'template', content } }],
  };
};

/** @throws {Error} the vault holds none: a fault. */
export const templateContent = async (
  contents: Pick<Contents, 'get'>,
  { contentId }: TemplateContentRef,
): Promise<TemplateContent> => {
  const body = (await contents.get([contentId])).get(contentId);
  if (body?.kind !== 'template') throw new Error(`the vault holds no template content ${contentId}`);
  return body.content;
};

/** The newest content, as it was written: of the draft, or of the newest version. @throws {DomainError} `not_found`. */
export const draftContent = async (
  { contents }: Pick<Templates, 'contents'>,
  { draft, versions }: Pick<ExistingTemplate, 'draft' | 'versions'>,
): Promise<TemplateContent> => {
  const newest = draft ?? versions.at(-1);
  if (newest === undefined) throw new DomainError('not_found', 'the template has no content');
  return sourceOf(await templateContent(contents, newest));
};

interface Templates {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'get'>;
  readonly templateCompiler: Pick<TemplateCompiler, 'compile'>;
}

/** Layouts in layouts: deeper is a mistake. */
const LAYOUTS_MAX = 5;

const invalidLayout = (alias: string, why: string): DomainError =>
  new DomainError('template_invalid', 'the template has errors and cannot be published', {
    details: { layout: [`layout '${alias}' ${why}`] },
  });

const SAYS_CONTENT = /\{\{-?\s{0,10}content\b/;

const publishedLayout = async (
  { store, contents }: Omit<Templates, 'templateCompiler'>,
  organizationId: string,
  alias: string,
): Promise<{ readonly existing: ExistingTemplate; readonly version: number; readonly content: TemplateContent }> => {
  const { state } = await load(store, template, templateStream(templateIdOf(organizationId, alias)));
  if (state.status === 'absent' || state.organizationId !== organizationId || state.status === 'deleted') {
    throw invalidLayout(alias, 'is not a template of your organization');
  }
  if (state.publishedVersion === null) throw invalidLayout(alias, 'is not published');
  const version = requireVersion(state, state.publishedVersion);
  return { existing: state, version: version.version, content: await templateContent(contents, version) };
};

/** The layouts of a draft as they are published now. @throws {DomainError} `template_invalid` naming `layout`. */
const layoutsOf = async (
  templates: Templates,
  { organizationId, templateId }: Pick<ExistingTemplate, 'organizationId' | 'templateId'>,
  { layout: alias, variables }: TemplateContent,
): Promise<CompiledContent> => {
  if (alias === undefined) return { layouts: [], layoutVariables: [] };
  const { existing, version, content: layout } = await publishedLayout(templates, organizationId, alias);
  const layouts: readonly Layout[] = [
    { templateId: existing.templateId, version, ...htmlOf(layout) },
    ...(layout.compiled?.layouts ?? []),
  ];
  if (layouts.some((each) => each.templateId === templateId))
    throw invalidLayout(alias, 'would contain itself, directly or through its own layouts');
  if (layouts.length > LAYOUTS_MAX)
    throw invalidLayout(alias, `uses more than ${LAYOUTS_MAX} layouts inside each other`);
  if (!SAYS_CONTENT.test(layout.html))
    throw invalidLayout(alias, 'has no {{ content }}, where the content of the template is inserted');
  const own = new Set(variables.map(({ name }) => name));
  return { layouts, layoutVariables: variablesOf(layout).filter(({ name }) => !own.has(name)) };
};

const STYLE_SHEET = /<style[^>]*>([\s\S]*?)<\/style>/gi;

const styleSheetsIn = (layouts: readonly Layout[]): string =>
  layouts.flatMap(({ html }) => [...html.matchAll(STYLE_SHEET)].map(([, css]) => css ?? '')).join('\n');

/** @throws {DomainError} `template_invalid` naming `html` or `locales.de.html`, with line and column. */
const compiledHtml = async (
  { templateCompiler }: Templates,
  { organizationId }: Pick<ExistingTemplate, 'organizationId'>,
  content: TemplateContent,
  layouts: readonly Layout[],
): Promise<LocalizedHtml> => {
  const { format, inlineCss, locales } = content;
  const css = inlineCss ? styleSheetsIn(layouts) : null;
  const details: Record<string, readonly string[]> = {};
  const compile = async (field: string, source: string): Promise<string> => {
    const made = await templateCompiler.compile({ html: source, format, inlineCss: css }, organizationId);
    if ('html' in made) return made.html;
    const { line, column, sentence } = made.problem;
    details[field] = [`${field} line ${line}, column ${column}: ${sentence}`];
    return '';
  };
  const html = await compile('html', content.html);
  const others = Object.entries(locales).map(
    async ([tag, one]) => [tag, await compile(`locales.${tag}.html`, one.html)] as const,
  );
  const compiled = { html, locales: Object.fromEntries(await Promise.all(others)) };
  if (Object.keys(details).length === 0) return compiled;
  throw new DomainError('template_invalid', 'the template cannot be compiled: see details', { details });
};

/**
 * The draft as it would be published now: with its layouts, MJML made html, and styles written into elements.
 * @throws {DomainError} `template_invalid`.
 */
export const compileContent = async (
  templates: Templates,
  existing: Pick<ExistingTemplate, 'organizationId' | 'templateId'>,
  content: TemplateContent,
): Promise<TemplateContent> => {
  const compiled = await layoutsOf(templates, existing, content);
  const isAsWritten = content.format === 'html' && !content.inlineCss;
  if (isAsWritten) return content.layout === undefined ? content : { ...content, compiled };
  const html = await compiledHtml(templates, existing, content, compiled.layouts);
  return { ...content, compiled: { ...compiled, html } };
};

/** Which content is meant: a version, or the draft. */
export type Which = { readonly version: number | 'draft' };

/** The content of a version as published, or of the draft with its layouts. @throws {DomainError} `not_found`, `template_invalid`. */
export const contentOf = async (
  templates: Templates,
  existing: ExistingTemplate,
  { version }: Which,
): Promise<{ readonly content: TemplateContent; readonly version: number | null }> => {
  if (version === 'draft') {
    const content = await compileContent(templates, existing, await draftContent(templates, existing));
    return { content, version: null };
  }
  const found = requireVersion(existing, version);
  return { content: await templateContent(templates.contents, found), version: found.version };
};

/** The template by id or alias, also when it is deleted, for its versions. @throws {DomainError} `not_found`, `other_organization`. */
export const loadVersions = async (
  store: EventStore,
  organizationId: string,
  idOrAlias: string,
): Promise<ExistingTemplate> => {
  const { state } = await load(store, template, templateStream(templateIdOf(organizationId, idOrAlias)));
  return requireVersions(state, organizationId);
};

/** The template by id or alias. @throws {DomainError} `not_found`, `other_organization`. */
export const loadTemplate = async (store: EventStore, organizationId: string, idOrAlias: string) => {
  const { state, revision } = await load(store, template, templateStream(templateIdOf(organizationId, idOrAlias)));
  return { template: requireTemplate(state, organizationId), revision };
};
