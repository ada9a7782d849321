import { z } from 'zod';
import type { LocalizedContent, TemplateContent } from '../../../domain/template/content.ts';
import type { ExistingTemplate, TemplateVersion } from '../../../domain/template/template.ts';
import { VARIABLE_TYPES, type Variable } from '../../../domain/template/variables.ts';
import { timeSchema } from '../../schemas/envelope.ts';
import { atMost, line, text } from '../../validation/fields.ts';

/** What clients send and see of templates. */

const SUBJECT_CHARACTERS_MAX = 998;
const PREHEADER_CHARACTERS_MAX = 1_000;
const SOURCE_CHARACTERS_MAX = 200_000;
const NAME_CHARACTERS_MAX = 200;
const ADDRESS_CHARACTERS_MAX = 998;
const REPLY_TO_MAX = 10;
const VARIABLES_MAX = 100;
const LOCALES_MAX = 30;

const ALIAS = /^[a-z0-9][a-z0-9-]{0,63}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const LOCALE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?$/;
/** Names that are the template language's, or ours. */
const RESERVED: readonly string[] = ['content', 'forloop', 'true', 'false', 'nil', 'null', 'empty', 'blank'];

export const aliasField = z
  .string()
  .regex(ALIAS, 'must be 1 to 64 of a-z, 0-9 and -')
  .describe('Unique in your organization, and usable wherever the id is.');

const localizedFields = {
  subject: line(SUBJECT_CHARACTERS_MAX).describe('Liquid. One line.'),
  html: text(SOURCE_CHARACTERS_MAX).min(1).describe('Liquid; values are escaped. `{{ x | raw }}` writes html.'),
  text: text(SOURCE_CHARACTERS_MAX).optional().describe('Liquid; derived from the html when absent.'),
  preheader: line(PREHEADER_CHARACTERS_MAX).optional().describe('Liquid; shown behind the subject in lists of mail.'),
};

const variable = z.strictObject({
  name: z
    .string()
    .regex(VARIABLE, 'must be 1 to 64 letters, digits and _, and begin with no digit')
    .refine((name) => !RESERVED.includes(name), `must not be one of ${RESERVED.join(', ')}`),
  type: z.enum(VARIABLE_TYPES),
  required: z.boolean().default(true),
  default: z.unknown().optional().describe('Used when a send gives no value.'),
  example: z.unknown().optional().describe('Used when the template is published and tried.'),
  description: line(NAME_CHARACTERS_MAX).optional(),
});

const uniqueNames = (variables: readonly { readonly name: string }[]): boolean =>
  new Set(variables.map(({ name }) => name)).size === variables.length;

export const contentFields = {
  ...localizedFields,
  from: line(ADDRESS_CHARACTERS_MAX).optional().describe('Liquid; for sends that name no `from`.'),
  reply_to: atMost(REPLY_TO_MAX, z.array(line(ADDRESS_CHARACTERS_MAX))).optional(),
  layout: aliasField.optional().describe('Alias of the template that surrounds this one with `{{ content }}`.'),
  format: z.literal('html').default('html'),
  variables: atMost(VARIABLES_MAX, z.array(variable).refine(uniqueNames, 'must not name a variable twice'))
    .default([])
    .describe('Every variable that the parts use.'),
  locales: atMost(
    LOCALES_MAX,
    z.record(z.string().regex(LOCALE, 'must be a language tag such as de or de-AT'), z.strictObject(localizedFields)),
  )
    .default({})
    .describe('The same in other languages, by tag; `de-AT` falls back to `de`, and that to the fields above.'),
};

export const aboutFields = {
  name: line(NAME_CHARACTERS_MAX),
  description: line(NAME_CHARACTERS_MAX).nullable().default(null),
};

const contentBody = z.strictObject(contentFields);
export type ContentFields = z.output<typeof contentBody>;

export const contentFrom = ({ reply_to: replyTo, format: _, locales, variables, ...content }: ContentFields): TemplateContent => ({
  ...content,
  variables: variables as readonly Variable[], // `default` and `example` are whatever JSON holds
  locales: locales as Readonly<Record<string, LocalizedContent>>, // absent fields are absent
  ...(replyTo === undefined ? {} : { replyTo }),
});

export const templateSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('template'),
    alias: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(['draft', 'published']),
    published_version: z.number().int().nullable(),
    has_draft: z.boolean(),
    created_at: timeSchema(),
    updated_at: timeSchema(),
  })
  .meta({ id: 'Template' });

export const contentSchema = z
  .strictObject({
    subject: z.string(),
    html: z.string(),
    text: z.string().optional(),
    preheader: z.string().optional(),
    from: z.string().optional(),
    reply_to: z.array(z.string()).optional(),
    layout: z.string().optional(),
    format: z.literal('html'),
    variables: z.array(
      z.strictObject({
        name: z.string(),
        type: z.enum(VARIABLE_TYPES),
        required: z.boolean(),
        default: z.unknown().optional(),
        example: z.unknown().optional(),
        description: z.string().optional(),
      }),
    ),
    locales: z.record(
      z.string(),
      z.strictObject({
        subject: z.string(),
        html: z.string(),
        text: z.string().optional(),
        preheader: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'TemplateContent' });

export const templateWithContentSchema = templateSchema
  .extend({ content: contentSchema.describe('Of the draft, or of the newest version where there is no draft.') })
  .meta({ id: 'TemplateWithContent' });

export const versionSchema = z
  .strictObject({
    object: z.literal('template_version'),
    template_id: z.string(),
    version: z.number().int(),
    published: z.boolean().describe('Sends that name no version use this one.'),
    published_at: timeSchema(),
    published_by: z.string(),
    content_digest: z.string().describe('SHA-256 of the content, in hex.'),
  })
  .meta({ id: 'TemplateVersion' });

export const serializeTemplate = (template: ExistingTemplate): z.infer<typeof templateSchema> => ({
  id: template.templateId,
  object: 'template',
  alias: template.alias,
  name: template.name,
  description: template.description,
  status: template.status === 'published' ? 'published' : 'draft',
  published_version: template.publishedVersion,
  has_draft: template.draft !== null,
  created_at: template.createdAt,
  updated_at: template.updatedAt,
});

/** Without the layouts of a version: they are read as templates of their own. */
export const serializeContent = ({
  replyTo,
  layouts: _,
  variables,
  locales,
  ...content
}: TemplateContent): z.infer<typeof contentSchema> => ({
  ...content,
  format: 'html',
  variables: variables.map((each) => ({ ...each })),
  locales: Object.fromEntries(Object.entries(locales).map(([tag, each]) => [tag, { ...each }])),
  ...(replyTo === undefined ? {} : { reply_to: [...replyTo] }),
});

export const serializeVersion = (
  { templateId, publishedVersion }: ExistingTemplate,
  { version, publishedAt, publishedBy, contentDigest }: TemplateVersion,
): z.infer<typeof versionSchema> => ({
  object: 'template_version',
  template_id: templateId,
  version,
  published: version === publishedVersion,
  published_at: publishedAt,
  published_by: publishedBy,
  content_digest: contentDigest,
});
