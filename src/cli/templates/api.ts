import { z } from 'zod';
import { checked } from '../customer/checked.ts';
import type { Answer, Service } from '../customer/service.ts';
import { LOCALE, normalTemplate, requireAlias, type Template } from './files.ts';

/** Client for the templates of a running service. */

export interface RemoteTemplate {
  readonly template: Template;
  readonly hasDraft: boolean;
  readonly etag: string;
}

const PAGE = 100;

const text = z.string();
const localized = { subject: text, html: text, text: text.nullable(), preheader: text.nullable() };
const templateSchema = z.object({
  name: text,
  description: text.nullable(),
  has_draft: z.boolean(),
  content: z.object({
    ...localized,
    from: text.nullable(),
    reply_to: z.array(text),
    layout: text.nullable(),
    format: z.enum(['html', 'mjml']),
    inline_css: z.boolean(),
    variables: z.array(z.record(text, z.unknown())),
    locales: z.record(text.regex(LOCALE), z.object(localized)),
  }),
});
const listSchema = z.object({ data: z.array(z.object({ alias: text })), next_cursor: text.nullable() });
const versionSchema = z.object({ version: z.number() });

const BASE = '/v1/templates';

const remote = (answer: Answer<unknown>): RemoteTemplate => {
  const { name, description, has_draft: hasDraft, content } = checked(templateSchema, answer);
  return {
    template: normalTemplate({ name, description, ...content }),
    hasDraft,
    etag: answer.headers.get('etag') ?? '',
  };
};

export const templatesOf = ({ ask, target }: Service) => {
  const { origin } = new URL(target.url);
  return {
    origin,
    /** All templates by alias. */
    list: async (): Promise<ReadonlyMap<string, RemoteTemplate>> => {
      const found = new Map<string, RemoteTemplate>();
      for (let after: string | null = ''; after !== null; ) {
        const page: z.output<typeof listSchema> = checked(
          listSchema,
          await ask('GET', BASE, { query: { limit: PAGE, after: after || undefined } }),
        );
        for (const { alias } of page.data) {
          requireAlias(alias);
          found.set(alias, remote(await ask('GET', `${BASE}/${alias}`)));
        }
        after = page.next_cursor;
      }
      return found;
    },
    create: async (alias: string, template: Template): Promise<RemoteTemplate> =>
      remote(await ask('POST', BASE, { body: { alias, ...template } })),
    /** @throws {ServiceRefused} 412 if the template has changed since. */
    change: async (alias: string, template: Template, etag: string): Promise<RemoteTemplate> =>
      remote(await ask('PATCH', `${BASE}/${alias}`, { body: template, ifMatch: etag })),
    /** @returns the version number. @throws {ServiceRefused} 412 if the template has changed since. */
    publish: async (alias: string, etag: string): Promise<number> =>
      checked(versionSchema, await ask('POST', `${BASE}/${alias}/publish`, { ifMatch: etag })).version,
  };
};

export type TemplatesApi = ReturnType<typeof templatesOf>;
