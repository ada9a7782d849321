import { requireOwn } from '../../domain/kernel/aggregate.ts';
import { type Details, DomainError } from '../../domain/kernel/errors.ts';
import { templateStream } from '../../domain/kernel/streams.ts';
import type { MessageContents } from '../../domain/ports/contents.ts';
import {
  contentProblems,
  exampleValues,
  resolveValues,
  sourcesOf,
  type TemplateContent,
  variablesOf,
  withoutInlining,
} from '../../domain/template/content.ts';
import { type RenderedTemplate, renderTemplate } from '../../domain/template/render-template.ts';
import {
  createTemplate as decideCreate,
  deleteTemplate as decideDelete,
  changeDraft as decideDraft,
  publishTemplate as decidePublish,
  rollBackTemplate as decideRollBack,
  type ExistingTemplate,
  requireTemplate,
  requireVersion,
  type Template,
  type TemplateEvent,
  type TemplateVersion,
  template,
  templateIdOf,
} from '../../domain/template/template.ts';
import { pacedBy } from '../../lib/async/async.ts';
import type { HtmlChecker } from '../../lib/html/html.ts';
import {
  type TemplateCheck,
  type TemplateCompiler,
  TemplateFailed,
  type TemplateRenderer,
} from '../../lib/templates/templates.ts';
import {
  type CommandContext,
  type Condition,
  type Execution,
  eventContext,
  execute,
  executeOnce,
  type LoadedStream,
  load,
  type Origin,
  requireRevision,
} from '../execute.ts';
import { compileContent, draftContent, newContent, templateContent } from './template-content.ts';
import { requireValidHtml } from './use-template.ts';

/** The life of a template. Templates are shared by live and test keys, so their events have no environment. */

export interface ChangedTemplate {
  readonly template: ExistingTemplate;
  readonly revision: number;
}

interface Change extends Condition {
  readonly templateId: string;
  readonly contents?: readonly MessageContents[];
  /** The state that the change is based on; absent: the current template. */
  readonly known?: LoadedStream<Template>;
  decide(state: Template): readonly TemplateEvent[];
}

const change = async (
  context: CommandContext,
  origin: Origin,
  { templateId, contents, known, decide, atRevisions }: Change,
): Promise<ChangedTemplate> => {
  const execution: Execution<Template, TemplateEvent> = {
    aggregate: template,
    stream: templateStream(templateId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide,
    ...(contents === undefined ? {} : { contents }),
  };
  const executed =
    known === undefined
      ? await execute(context, { ...execution, ...(atRevisions === undefined ? {} : { atRevisions }) })
      : await executeOnce(context, { ...execution, known });
  if (executed === null)
    throw new DomainError(
      'resource_conflict',
      'another request changed the template at the same time: read it again and retry',
    );
  const { state, revision } = executed;
  return { template: requireOwn(state, origin.organizationId, 'template'), revision: Number(revision) };
};

/** The template as it is, where the change may be made to it. */
const loadFor = async (
  { store }: CommandContext,
  { organizationId }: Origin,
  { templateId, ...condition }: TemplateTarget,
): Promise<{ readonly known: LoadedStream<Template>; readonly before: ExistingTemplate }> => {
  const known = await load(store, template, templateStream(templateId));
  const before = requireTemplate(known.state, organizationId);
  requireRevision(condition, known);
  return { known, before };
};

export interface About {
  readonly name: string;
  readonly description: string | null;
}

/** @throws {DomainError} `resource_conflict`: the alias is taken. */
export const createTemplate = async (
  context: CommandContext,
  origin: Origin,
  { alias, name, description, content }: About & { readonly alias: string; readonly content: TemplateContent },
): Promise<ChangedTemplate> => {
  const templateId = templateIdOf(origin.organizationId, alias);
  const { ref, contents } = newContent(context, origin.organizationId, content);
  return change(context, origin, {
    templateId,
    contents,
    decide: (state) => decideCreate(state, { templateId, alias, name, description, ...ref }),
  });
};

interface TemplateTarget extends Condition {
  readonly templateId: string;
}

export interface ChangeDraft extends TemplateTarget {
  /** The new name and description, of those before. */
  about(before: About): About;
  /** The new content, of that before. */
  content(before: TemplateContent): TemplateContent;
}

/**
 * Makes a draft of the newest content, or changes the one there is.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`.
 */
export const changeDraft = async (
  context: CommandContext,
  origin: Origin,
  { about, content, ...existing }: ChangeDraft,
): Promise<ChangedTemplate> => {
  const { organizationId } = origin;
  const { known, before } = await loadFor(context, origin, existing);
  const changed = content(await draftContent(context, before));
  const { ref, contents } = newContent(context, organizationId, changed);
  const { name, description } = about(before);
  return change(context, origin, {
    templateId: existing.templateId,
    known,
    contents,
    decide: (state) => decideDraft(state, { organizationId, name, description, ...ref }),
  });
};

const invalid = (details: Details): DomainError =>
  new DomainError('template_invalid', 'the template has errors and cannot be published: see details', { details });

/** @throws {DomainError} `template_invalid` naming the parts, with line and column. */
const requireSound = async (
  { templateCompiler }: Pick<Publishing, 'templateCompiler'>,
  organizationId: string,
  content: TemplateContent,
): Promise<void> => {
  const checks = new Map<string, TemplateCheck>();
  for (const [field, source] of sourcesOf(content)) {
    checks.set(field, await templateCompiler.check(source, organizationId));
  }
  const details = contentProblems(content, checks);
  if (Object.keys(details).length === 0) return;
  throw invalid(details);
};

/** The draft with the values of its examples, where all required ones have one; null: some have none. */
const tryExamples = async (renderer: TemplateRenderer, content: TemplateContent): Promise<RenderedTemplate | null> => {
  const { values, problems } = resolveValues(variablesOf(content), exampleValues(variablesOf(content)));
  if (Object.keys(problems).length > 0) return null;
  try {
    return await pacedBy(renderer.isTurnOver, renderTemplate(renderer, content, { values, locale: null }));
  } catch (error) {
    if (!(error instanceof TemplateFailed)) throw error;
    throw invalid({ variables: [`with the values of the examples, ${error.message}`] });
  }
};

export interface PublishedTemplate extends ChangedTemplate {
  readonly version: TemplateVersion;
  /** The new version with the values of its examples; null: some variable has none. */
  readonly example: RenderedTemplate | null;
}

interface Publishing {
  readonly templateRenderer: TemplateRenderer;
  readonly templateCompiler: TemplateCompiler;
  readonly htmlChecker: HtmlChecker;
}

/** @throws {DomainError} `template_invalid`. */
const requireValidExample = async (
  { templateRenderer, htmlChecker }: Publishing,
  organizationId: string,
  content: TemplateContent,
): Promise<RenderedTemplate | null> => {
  const example = await tryExamples(templateRenderer, content);
  const asked = { templateRenderer, htmlChecker, organizationId, code: 'template_invalid', field: 'html' } as const;
  if (example !== null) await requireValidHtml(example, asked);
  return example;
};

/** @throws {DomainError} `template_invalid`: this content cannot be published. */
const requirePublishable = async (
  context: Pick<CommandContext, 'store' | 'contents'> & Publishing,
  existing: Pick<ExistingTemplate, 'organizationId' | 'templateId'>,
  draft: TemplateContent,
): Promise<{ readonly content: TemplateContent; readonly example: RenderedTemplate | null }> => {
  const { organizationId } = existing;
  await requireSound(context, organizationId, draft);
  const content = await compileContent(context, existing, draft);
  // Inlining styles repairs invalid html, and not always in the intended way.
  const written = withoutInlining(content);
  if (written !== null) await requireValidExample(context, organizationId, written);
  return { content, example: await requireValidExample(context, organizationId, content) };
};

/** Sentences that say why publishing would refuse the draft. Empty: it can be published. */
export const publishProblems = async (
  context: Pick<CommandContext, 'store' | 'contents'> & Publishing,
  existing: ExistingTemplate,
): Promise<readonly string[]> => {
  try {
    await requirePublishable(context, existing, await draftContent(context, existing));
    return [];
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'template_invalid')) throw error;
    return Object.values(error.details ?? {}).flat();
  }
};

/**
 * Makes the draft the next version.
 * @throws {DomainError} `template_invalid`, `resource_conflict`, `not_found`, `precondition_failed`.
 */
export const publishTemplate = async (
  context: CommandContext & Publishing,
  origin: Origin,
  existing: TemplateTarget,
): Promise<PublishedTemplate> => {
  const { organizationId } = origin;
  const { known, before } = await loadFor(context, origin, existing);
  if (before.draft === null) throw new DomainError('resource_conflict', 'the template has no unpublished changes');
  const draft = await templateContent(context.contents, before.draft);
  const { content, example } = await requirePublishable(context, before, draft);
  const { ref, contents } = newContent(context, organizationId, content);
  const changed = await change(context, origin, {
    templateId: existing.templateId,
    known, // the draft that was checked is the one that is published
    contents,
    decide: (state) => decidePublish(state, { organizationId, content: ref }),
  });
  return { ...changed, version: requireVersion(changed.template, changed.template.versions.length), example };
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const rollBackTemplate = (
  context: CommandContext,
  origin: Origin,
  { version, ...existing }: TemplateTarget & { readonly version: number },
): Promise<ChangedTemplate> =>
  change(context, origin, {
    ...existing,
    decide: (state) => decideRollBack(state, { organizationId: origin.organizationId, version }),
  });

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const deleteTemplate = (
  context: CommandContext,
  origin: Origin,
  existing: TemplateTarget,
): Promise<ChangedTemplate> =>
  change(context, origin, { ...existing, decide: (state) => decideDelete(state, origin.organizationId) });
