import { canonicalJson, sha256Hex } from '../../domain/digest.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { Contents, MessageContents } from '../../domain/ports/contents.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { templateStream } from '../../domain/streams.ts';
import { requireTemplate, requireVersion } from '../../domain/template/change-template.ts';
import { type Layout, sourceOf, type TemplateContent, variablesOf } from '../../domain/template/content.ts';
import {
  type ExistingTemplate,
  type TemplateContentRef,
  template,
  templateIdOf,
} from '../../domain/template/template.ts';
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
}

/** Layouts in layouts: deeper is a mistake. */
const LAYOUTS_MAX = 5;

const invalidLayout = (alias: string, why: string): DomainError =>
  new DomainError('template_invalid', 'the template cannot be published', {
    details: { layout: [`layout '${alias}' ${why}`] },
  });

const publishedLayout = async (
  { store, contents }: Templates,
  organizationId: string,
  alias: string,
): Promise<{ readonly existing: ExistingTemplate; readonly version: number; readonly content: TemplateContent }> => {
  const { state } = await load(store, template, templateStream(templateIdOf(organizationId, alias)));
  if (state.status === 'absent' || state.organizationId !== organizationId || state.status === 'deleted') {
    throw invalidLayout(alias, 'is no template of your organization');
  }
  if (state.publishedVersion === null) throw invalidLayout(alias, 'is not published');
  const version = requireVersion(state, state.publishedVersion);
  return { existing: state, version: version.version, content: await templateContent(contents, version) };
};

/** The draft with its layouts as they are published now. @throws {DomainError} `template_invalid` naming `layout`. */
export const withLayouts = async (
  templates: Templates,
  { organizationId, templateId }: Pick<ExistingTemplate, 'organizationId' | 'templateId'>,
  content: TemplateContent,
): Promise<TemplateContent> => {
  if (content.layout === undefined) return content;
  const { existing, version, content: layout } = await publishedLayout(templates, organizationId, content.layout);
  const all: readonly Layout[] = [
    {
      templateId: existing.templateId,
      version,
      html: layout.html,
      locales: Object.fromEntries(Object.entries(layout.locales).map(([tag, { html }]) => [tag, html])),
    },
    ...(layout.compiled?.layouts ?? []),
  ];
  if (all.some((each) => each.templateId === templateId))
    throw invalidLayout(content.layout, 'is in this template itself');
  if (all.length > LAYOUTS_MAX) throw invalidLayout(content.layout, `is more than ${LAYOUTS_MAX} deep in others`);
  const own = new Set(content.variables.map(({ name }) => name));
  const layoutVariables = variablesOf(layout).filter(({ name }) => !own.has(name));
  return { ...content, compiled: { layouts: all, layoutVariables } };
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
    const content = await withLayouts(templates, existing, await draftContent(templates, existing));
    return { content, version: null };
  }
  const found = requireVersion(existing, version);
  return { content: await templateContent(templates.contents, found), version: found.version };
};

/** The template by id or alias. @throws {DomainError} `not_found`, `other_organization`. */
export const loadTemplate = async (store: EventStore, organizationId: string, idOrAlias: string) => {
  const { state, revision } = await load(store, template, templateStream(templateIdOf(organizationId, idOrAlias)));
  return { template: requireTemplate(state, organizationId), revision };
};
