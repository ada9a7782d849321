import { z } from 'zod';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import { DomainError } from '../kernel/errors.ts';
import type { EventsOf } from '../kernel/event.ts';
import { formatId, isId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** The content is in the vault under `contentId`. The digest later proves which content it was. */
const content = { contentId: z.string(), contentDigest: z.string() };

export const templateEvents = {
  TemplateCreated: z.object({
    templateId: z.string(),
    alias: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    ...content,
  }),
  TemplateDraftChanged: z.object({
    templateId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    ...content,
  }),
  /** Version n + 1, immutable. Its content is the compiled draft, with its layout as of publication. */
  TemplatePublished: z.object({ templateId: z.string(), version: z.number().int().min(1), ...content }),
  TemplateRolledBack: z.object({ templateId: z.string(), version: z.number().int().min(1) }),
  TemplateDeleted: z.object({ templateId: z.string() }),
};
export type TemplateEvent = EventsOf<typeof templateEvents>;

/** Reference to a content, with its digest. */
export interface TemplateContentRef {
  /** Vault id. */
  readonly contentId: string;
  /** SHA-256 of the content's JSON, in hex. */
  readonly contentDigest: string;
}

export interface TemplateVersion extends TemplateContentRef {
  readonly version: number;
  /** ISO 8601. */
  readonly publishedAt: string;
  /** Actor as in the event's metadata, such as `key:<id>`. */
  readonly publishedBy: string;
}

export interface ExistingTemplate {
  readonly status: 'draft' | 'published' | 'deleted';
  readonly templateId: string;
  readonly organizationId: string;
  readonly alias: string;
  readonly name: string;
  readonly description: string | null;
  /** Changes since the newest version; otherwise null. */
  readonly draft: TemplateContentRef | null;
  /** In order, starting with version 1. Kept when the template is deleted, because messages refer to them. */
  readonly versions: readonly TemplateVersion[];
  /** Version used by sends that name none. */
  readonly publishedVersion: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export type Template = { readonly status: 'absent' } | ExistingTemplate;

/** Derived from organization and alias, so that the log rejects the second of two concurrent creations. */
export const templateIdOf = (organizationId: string, idOrAlias: string): string =>
  isId('tpl', idOrAlias) ? idOrAlias : formatId('tpl', sha256(`${organizationId}\0template\0${idOrAlias}`));

/**
 * A deleted template may be created again under its alias. Its id is derived from organization and alias, so its stream
 * and its version numbers continue.
 */
export const template: Aggregate<Template, TemplateEvent> = {
  category: CATEGORIES.template,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt, actor }) => {
    if (event.type === 'TemplateCreated') {
      const { contentId, contentDigest, ...about } = event.data;
      return {
        ...about,
        status: 'draft',
        organizationId,
        draft: { contentId, contentDigest },
        versions: state.status === 'absent' ? [] : state.versions,
        publishedVersion: null,
        createdAt: occurredAt,
        updatedAt: occurredAt,
      };
    }
    if (state.status === 'absent') return state;
    const updatedAt = occurredAt;
    switch (event.type) {
      case 'TemplateDraftChanged': {
        const { name, description, contentId, contentDigest } = event.data;
        return { ...state, name, description, draft: { contentId, contentDigest }, updatedAt };
      }
      case 'TemplatePublished': {
        const { version, contentId, contentDigest } = event.data;
        const published = { version, contentId, contentDigest, publishedAt: occurredAt, publishedBy: actor };
        return {
          ...state,
          status: 'published',
          draft: null,
          versions: [...state.versions, published],
          publishedVersion: version,
          updatedAt,
        };
      }
      case 'TemplateRolledBack':
        return { ...state, status: 'published', publishedVersion: event.data.version, updatedAt };
      case 'TemplateDeleted':
        return { ...state, status: 'deleted', draft: null, publishedVersion: null, updatedAt };
      default:
        return event satisfies never;
    }
  },
};

/** Maximum versions of a template. Higher: more memory, because senders fold its stream and hold its state. */
const VERSIONS_MAX = 1_000;

interface CreateTemplate extends TemplateContentRef {
  readonly templateId: string;
  readonly alias: string;
  readonly name: string;
  readonly description: string | null;
}

/** @throws {DomainError} `resource_conflict` if the organization has a template with this alias. */
export const createTemplate = (state: Template, command: CreateTemplate): readonly TemplateEvent[] => {
  if (state.status !== 'absent' && state.status !== 'deleted') {
    throw new DomainError(
      'resource_conflict',
      `the template '${command.alias}' already exists: update its draft instead`,
    );
  }
  return [{ type: 'TemplateCreated', data: { ...command } }];
};

/**
 * Returns the organization's template unless it was deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireTemplate = (state: Template, organizationId: string): ExistingTemplate => {
  const existing = requireOwn(state, organizationId, 'template');
  if (existing.status === 'deleted') throw new DomainError('not_found', 'template not found');
  return existing;
};

/**
 * Returns the template even if it was deleted, provided it has versions, because messages refer to them.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireVersions = (state: Template, organizationId: string): ExistingTemplate => {
  const existing = requireOwn(state, organizationId, 'template');
  return existing.versions.length > 0 ? existing : requireTemplate(state, organizationId);
};

/** @throws {DomainError} `not_found` if the version does not exist. */
export const requireVersion = ({ versions }: ExistingTemplate, version: number): TemplateVersion => {
  const found = versions.find((each) => each.version === version);
  if (found === undefined) throw new DomainError('not_found', `version ${version} of the template not found`);
  return found;
};

interface ChangeDraft extends TemplateContentRef {
  readonly organizationId: string;
  readonly name: string;
  readonly description: string | null;
}

/**
 * Changes the draft. Sends still use the published version.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const changeDraft = (state: Template, { organizationId, ...change }: ChangeDraft): readonly TemplateEvent[] => {
  const existing = requireTemplate(state, organizationId);
  const newest = existing.draft ?? existing.versions.at(-1);
  const isSame =
    newest?.contentDigest === change.contentDigest &&
    existing.name === change.name &&
    existing.description === change.description;
  if (isSame) return [];
  return [{ type: 'TemplateDraftChanged', data: { templateId: existing.templateId, ...change } }];
};

interface PublishTemplate {
  readonly organizationId: string;
  /** The compiled draft. */
  readonly content: TemplateContentRef;
}

/** @throws {DomainError} `resource_conflict` if there is no draft or there are too many versions; `not_found`. */
export const publishTemplate = (
  state: Template,
  { organizationId, content }: PublishTemplate,
): readonly TemplateEvent[] => {
  const existing = requireTemplate(state, organizationId);
  if (existing.draft === null) throw new DomainError('resource_conflict', 'the template has no unpublished changes');
  if (existing.versions.length >= VERSIONS_MAX) {
    throw new DomainError(
      'resource_conflict',
      `the template has ${VERSIONS_MAX} versions, which is the maximum: create another template`,
    );
  }
  const version = existing.versions.length + 1;
  return [{ type: 'TemplatePublished', data: { templateId: existing.templateId, version, ...content } }];
};

/** @throws {DomainError} `not_found`. */
export const rollBackTemplate = (
  state: Template,
  { organizationId, version }: { readonly organizationId: string; readonly version: number },
): readonly TemplateEvent[] => {
  const existing = requireTemplate(state, organizationId);
  requireVersion(existing, version);
  if (existing.publishedVersion === version) return [];
  return [{ type: 'TemplateRolledBack', data: { templateId: existing.templateId, version } }];
};

/**
 * Deletes a template. Its versions stay readable for messages that refer to them.
 * @throws {DomainError} `not_found`.
 */
export const deleteTemplate = (state: Template, organizationId: string): readonly TemplateEvent[] => {
  const { templateId } = requireTemplate(state, organizationId);
  return [{ type: 'TemplateDeleted', data: { templateId } }];
};

/** Names by which sends refer to templates. */

const ALIAS = /^[a-z0-9-]{1,64}$/;

export const isAlias = (name: string): boolean => ALIAS.test(name);

/**
 * Converts another service's template name to an alias: `Order_Sent.v2` becomes `order-sent-v2`. Ids of this service
 * are unchanged.
 */
export const aliasOf = (name: string): string =>
  isId('tpl', name) ? name : name.toLowerCase().replaceAll(/[_.\s]/g, '-');

/** Names that no variable can have: they are the template language's, ours, or every object's. */
export const RESERVED_NAMES: readonly string[] = [
  ...['content', 'forloop', 'true', 'false', 'nil', 'null', 'empty', 'blank'],
  ...['__proto__', 'constructor', 'prototype'],
];
