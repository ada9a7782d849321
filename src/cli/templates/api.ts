import { z } from 'zod';
import { type Answer, openService, parsed } from '../service-api.ts';
import { LOCALE, normalTemplate, requireAlias, type Template } from './files.ts';

/** The templates of a running service, by its API: at `OUTBOX_URL`, with the key `OUTBOX_API_KEY`. */

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
export const openApi = () => {
  const { origin, call } = openService();

  const remote = (answer: Answer): RemoteTemplate => {
    const { name, description, has_draft: hasDraft, content } = parsed(templateSchema, answer);
    return { template: normalTemplate({ name, description, ...content }), hasDraft, etag: answer.etag };
  };

  return {
    origin,
    /** All templates by alias. */
    list: async (): Promise<ReadonlyMap<string, RemoteTemplate>> => {
      const found = new Map<string, RemoteTemplate>();
      for (let after: string | null = ''; after !== null; ) {
        const page: z.output<typeof listSchema> = parsed(
          listSchema,
          await call('GET', `/templates?limit=${PAGE}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`),
        );
        for (const { alias } of page.data) {
          requireAlias(alias);
          found.set(alias, remote(await call('GET', `/templates/${alias}`)));
        }
        after = page.next_cursor;
      }
      return found;
    },
    create: async (alias: string, template: Template): Promise<RemoteTemplate> =>
      remote(await call('POST', '/templates', { body: { alias, ...template } })),
    /** @throws {ApiRefused} 412: somebody has changed it since. */
    change: async (alias: string, template: Template, etag: string): Promise<RemoteTemplate> =>
      remote(await call('PATCH', `/templates/${alias}`, { body: template, etag })),
    /** @returns the number of the version. @throws {ApiRefused} 412: somebody has changed it since. */
    publish: async (alias: string, etag: string): Promise<number> =>
      parsed(versionSchema, await call('POST', `/templates/${alias}/publish`, { etag })).version,
  };
};

export type TemplatesApi = ReturnType<typeof openApi>;
