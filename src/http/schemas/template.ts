import { z } from 'zod';
import { TEMPLATE_FORMATS, type TemplateContent } from '../../domain/template/content.ts';
import type { ExistingTemplate, TemplateVersion } from '../../domain/template/template.ts';
import { VARIABLE_TYPES } from '../../domain/template/variables.ts';
import { timeSchema } from './envelope.ts';
import { templateAnalysisSchema } from './sent-message.ts';

/** Templates as shown to clients. */

const templateFields = {
  id: z.string(),
  alias: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  status: z.enum(['draft', 'published']),
  published_version: z.number().int().nullable().describe('Version used by sends that do not specify one.'),
  has_draft: z.boolean().describe('True if there are unpublished changes.'),
  created_at: timeSchema(),
  updated_at: timeSchema(),
};

export const listedTemplateSchema = z
  .strictObject({ object: z.literal('template'), ...templateFields })
  .meta({ id: 'ListedTemplate' });
export type SerializedTemplate = z.infer<typeof listedTemplateSchema>;

const localizedFields = {
  subject: z.string(),
  html: z.string(),
  text: z.string().nullable().describe('null: derived from the html.'),
  preheader: z.string().nullable(),
};

const contentSchema = z
  .strictObject({
    ...localizedFields,
    from: z.string().nullable(),
    reply_to: z.array(z.string()),
    layout: z.string().nullable(),
    format: z.enum(TEMPLATE_FORMATS),
    inline_css: z.boolean(),
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
    locales: z.record(z.string(), z.strictObject(localizedFields)),
  })
  .meta({ id: 'TemplateContent' });
export type SerializedContent = z.infer<typeof contentSchema>;

export const templateSchema = z
  .strictObject({
    object: z.literal('template'),
    ...templateFields,
    content: contentSchema.describe('Content of the draft or, if there is no draft, of the newest version.'),
  })
  .meta({ id: 'Template' });
export type SerializedWholeTemplate = z.infer<typeof templateSchema>;

const versionFields = {
  object: z.literal('template_version'),
  template_id: z.string(),
  version: z.number().int(),
  published: z.boolean().describe('Version used by sends that do not specify one.'),
  published_at: timeSchema(),
  published_by: z.string().describe('`key:` and the id of the API key, or `operator`.'),
  content_digest: z.string().describe('SHA-256 of the content, in hex.'),
};

export const listedVersionSchema = z.strictObject(versionFields).meta({ id: 'ListedTemplateVersion' });
export type SerializedVersion = z.infer<typeof listedVersionSchema>;

export const versionSchema = z
  .strictObject({ ...versionFields, content: contentSchema })
  .meta({ id: 'TemplateVersion' });
export type SerializedWholeVersion = z.infer<typeof versionSchema>;

export const publishedVersionSchema = z
  .strictObject({
    ...versionFields,
    analysis: templateAnalysisSchema
      .nullable()
      .describe('Rendered with the values of the examples; null: a variable has no example.'),
  })
  .meta({ id: 'PublishedTemplateVersion' });

const lineChange = z.strictObject({ kind: z.enum(['added', 'removed', 'same']), text: z.string() });

export const templateDiffSchema = z
  .strictObject({
    object: z.literal('template_diff'),
    template_id: z.string(),
    from: z.number().int().nullable().describe('null: the draft.'),
    to: z.number().int(),
    changes: z.array(
      z.strictObject({
        field: z.string().describe('`html`, `locales.de.subject`, `variables`.'),
        from: z.unknown().describe('Value in the version `from`; null: none.'),
        to: z.unknown().describe('Value in the version `to`; null: none.'),
        lines: z
          .array(lineChange)
          .nullable()
          .describe(
            'The lines that changed and three around each; null for a text of one line, and where too many lines differ.',
          ),
      }),
    ),
  })
  .meta({ id: 'TemplateDiff' });
export type SerializedTemplateDiff = z.infer<typeof templateDiffSchema>;

export const renderedTemplateSchema = z
  .strictObject({
    object: z.literal('rendered_template'),
    template_id: z.string(),
    version: z.number().int().nullable().describe('null: the draft.'),
    subject: z.string(),
    html: z.string(),
    text: z
      .string()
      .nullable()
      .describe('The template’s own text, or the text derived from the html; null: the html contains no words.'),
    from: z.string().nullable(),
    reply_to: z.array(z.string()),
    unused_variables: z.array(z.string()).describe('Values given that the template does not declare.'),
    analysis: templateAnalysisSchema,
  })
  .meta({ id: 'RenderedTemplate' });
export type SerializedRendering = z.infer<typeof renderedTemplateSchema>;

export const serializeTemplate = (template: ExistingTemplate): SerializedTemplate => ({
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

type LocaleContent = TemplateContent['locales'][string];
type SerializedLocale = SerializedContent['locales'][string];

const serializeLocalized = ({ subject, html, text, preheader }: LocaleContent): SerializedLocale => ({
  subject,
  html,
  text: text ?? null,
  preheader: preheader ?? null,
});

export const serializeContent = (content: TemplateContent): SerializedContent => ({
  ...serializeLocalized(content),
  from: content.from ?? null,
  reply_to: [...(content.replyTo ?? [])],
  layout: content.layout ?? null,
  format: content.format,
  inline_css: content.inlineCss,
  variables: content.variables.map((each) => ({ ...each })),
  locales: Object.fromEntries(
    Object.entries(content.locales).map(([tag, localized]) => [tag, serializeLocalized(localized)]),
  ),
});

export const serializeVersion = (
  { templateId, publishedVersion }: ExistingTemplate,
  { version, publishedAt, publishedBy, contentDigest }: TemplateVersion,
): SerializedVersion => ({
  object: 'template_version',
  template_id: templateId,
  version,
  published: version === publishedVersion,
  published_at: publishedAt,
  published_by: publishedBy,
  content_digest: contentDigest,
});
