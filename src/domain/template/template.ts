import type { Aggregate } from '../aggregate.ts';
import { sha256 } from '../digest.ts';
import type { TemplateEvent } from '../events.ts';
import { formatId, isId } from '../ids.ts';
import { CATEGORIES } from '../streams.ts';

/** Where a content is, and what it was. */
export interface TemplateContentRef {
  /** Id in the vault. */
  readonly contentId: string;
  /** SHA-256 of its JSON, in hex. */
  readonly contentDigest: string;
}

export interface TemplateVersion extends TemplateContentRef {
  readonly version: number;
  /** ISO 8601. */
  readonly publishedAt: string;
  /** `key:<id>` and the like, as in the event's metadata. */
  readonly publishedBy: string;
}

export interface ExistingTemplate {
  readonly status: 'draft' | 'published' | 'deleted';
  readonly templateId: string;
  readonly organizationId: string;
  readonly alias: string;
  readonly name: string;
  readonly description: string | null;
  /** Changes that no version has yet; null: the newest version has them all. */
  readonly draft: TemplateContentRef | null;
  /** In order, the first is version 1. Kept when the template is deleted: messages name them. */
  readonly versions: readonly TemplateVersion[];
  /** What sends use when they name no version. */
  readonly publishedVersion: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export type Template = { readonly status: 'absent' } | ExistingTemplate;

/** Follows from organization and alias, so that the log refuses the second of two that are created at once. */
export const templateIdOf = (organizationId: string, idOrAlias: string): string =>
  isId('tpl', idOrAlias) ? idOrAlias : formatId('tpl', sha256(`${organizationId}\0template\0${idOrAlias}`));

/**
 * A deleted template may be created again under its alias: its id follows from organization and alias, so the stream goes
 * on, and version numbers with it.
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
