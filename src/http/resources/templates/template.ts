import { z } from 'zod';
import {
  type LocalizedContent,
  TEMPLATE_FORMATS,
  type TemplateContent,
  VARIABLE_TYPES,
  type Variable,
} from '../../../domain/template/content.ts';
import {
  type ExistingTemplate,
  isAlias,
  RESERVED_NAMES,
  type TemplateVersion,
} from '../../../domain/template/template.ts';
import { atMost, line, text, timeSchema } from '../../fields.ts';
import { templateAnalysisSchema } from '../messages/sent-message.ts';

/** Templates as shown to clients. */

const templateFields = {
  id: z.string(),
  alias: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  status: z.enum(['draft', 'published']),
  published_version: z
    .number()
    .int()
    .nullable()
    .describe('Version that messages use if they do not name one. null: not published yet.'),
  has_draft: z.boolean().describe('true: there are unpublished changes.'),
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
  text: z.string().nullable().describe('null: the text is generated from the html.'),
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
    content: contentSchema.describe('Content of the draft, or of the newest version if there is no draft.'),
  })
  .meta({ id: 'Template' });
export type SerializedWholeTemplate = z.infer<typeof templateSchema>;

const versionFields = {
  object: z.literal('template_version'),
  template_id: z.string(),
  version: z.number().int(),
  published: z.boolean().describe('true: messages that do not name a version use this one.'),
  published_at: timeSchema(),
  published_by: z
    .string()
    .describe('The publisher: `key:` and the id of the API key, `member:` and the id of the member, or `operator`.'),
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
      .describe('Analysis of the template rendered with its example values. null: a variable has no example.'),
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
        field: z.string().describe('Path of the changed field: `html`, `locales.de.subject`, `variables`.'),
        from: z.unknown().describe('Value in the version `from`. null: the field is not set.'),
        to: z.unknown().describe('Value in the version `to`. null: the field is not set.'),
        lines: z
          .array(lineChange)
          .nullable()
          .describe(
            'The changed lines, with three lines around each. null: the text has one line, or too many lines differ.',
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
      .describe('The text of the template, or the text generated from the html. null: the html contains no words.'),
    from: z.string().nullable(),
    reply_to: z.array(z.string()),
    unused_variables: z.array(z.string()).describe('Names of sent values that the template does not declare.'),
    publish_problems: z
      .array(z.string())
      .describe('Reasons why the draft cannot be published. Empty: it can be published, or a version was rendered.'),
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

/** Template fields in requests. */

const SUBJECT_CHARACTERS_MAX = 998;
const PREHEADER_CHARACTERS_MAX = 1_000;
/** Larger html belongs into a layout, or is data. */
const SOURCE_CHARACTERS_MAX = 200_000;
const NAME_CHARACTERS_MAX = 200;
const ADDRESS_CHARACTERS_MAX = 998;
const REPLY_TO_MAX = 10;
const VARIABLES_MAX = 100;
const LOCALES_MAX = 30;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const LOCALE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?$/;
const alias = z.string().refine(isAlias, 'must be 1 to 64 characters of a-z, 0-9 and -');

export const localeField = z
  .string()
  .refine((tag) => LOCALE.test(tag), 'must be a language tag such as de or de-AT')
  .describe('A language tag. `de-AT` falls back to `de`, and `de` to the default language of the template.');

/** Values for the variables, by name. */
export const variablesField = atMost(VARIABLES_MAX, z.record(z.string(), z.unknown()));

const subject = line(SUBJECT_CHARACTERS_MAX);
const html = text(SOURCE_CHARACTERS_MAX).min(1);
const plain = text(SOURCE_CHARACTERS_MAX);
const preheader = line(PREHEADER_CHARACTERS_MAX);

const inOneLocale = z.strictObject({
  subject,
  html,
  text: plain.nullable().default(null),
  preheader: preheader.nullable().default(null),
});

const isVariableName = (name: string): boolean => VARIABLE.test(name);

const variable = z.strictObject({
  name: z
    .string()
    .refine(isVariableName, 'must be 1 to 64 letters, digits or _, and must not begin with a digit')
    .refine((name) => !RESERVED_NAMES.includes(name), `must not be one of ${RESERVED_NAMES.join(', ')}`),
  type: z.enum(VARIABLE_TYPES),
  required: z.boolean().default(true),
  default: z.unknown().optional().describe('Value that is used if a message does not set the variable.'),
  example: z.unknown().optional().describe('Value that is used to check and preview the template.'),
  description: line(NAME_CHARACTERS_MAX).optional().describe('A note for people who use the template.'),
});

const uniqueNames = (variables: readonly { readonly name: string }[]): boolean =>
  new Set(variables.map(({ name }) => name)).size === variables.length;

const fields = {
  subject: subject.describe('Subject, one line. May contain Liquid.'),
  html: html.describe(
    'Html with Liquid: `{{ name }}` inserts a value escaped, `{{ name | raw }}` as html. At most 200,000 characters.',
  ),
  text: plain.nullable().describe('Plain text with Liquid. null: generated from the html.'),
  preheader: preheader
    .nullable()
    .describe('Preview text that mail programs show after the subject. May contain Liquid.'),
  from: line(ADDRESS_CHARACTERS_MAX).nullable().describe('Default `from` of messages. May contain Liquid.'),
  reply_to: atMost(REPLY_TO_MAX, z.array(line(ADDRESS_CHARACTERS_MAX))).describe(
    'Default `reply_to` of messages. May contain Liquid.',
  ),
  layout: alias
    .nullable()
    .describe(
      'Alias of the layout: a template that contains `{{ content }}`. Publishing copies the published version of the layout.',
    ),
  format: z.enum(TEMPLATE_FORMATS).describe('Language in which `html` is written.'),
  inline_css: z.boolean().describe('true: publishing moves the styles into the elements.'),
  variables: atMost(
    VARIABLES_MAX,
    z.array(variable).refine(uniqueNames, 'must not contain the same name twice'),
  ).describe('All variables that the template uses, at most 100.'),
  locales: atMost(LOCALES_MAX, z.record(localeField, inOneLocale)).describe(
    'The same fields in other languages, by language tag. `de-AT` falls back to `de`, and `de` to the fields above.',
  ),
};

const about = {
  name: line(NAME_CHARACTERS_MAX).describe('Name shown in the dashboard.'),
  description: line(NAME_CHARACTERS_MAX).nullable().describe('A note for people who use the template.'),
};

export const createBody = z.strictObject({
  alias: alias.describe('A short name, unique in your organization, that you can use instead of the id.'),
  name: about.name,
  description: about.description.default(null),
  ...fields,
  text: fields.text.default(null),
  preheader: fields.preheader.default(null),
  from: fields.from.default(null),
  reply_to: fields.reply_to.default([]),
  layout: fields.layout.default(null),
  format: fields.format.default('html'),
  inline_css: fields.inline_css.default(false),
  variables: fields.variables.default([]),
  locales: fields.locales.default({}),
});

export const changeBody = z.strictObject({ ...about, ...fields }).partial();

type WithoutNulls<Fields> = { readonly [Name in keyof Fields]: Exclude<Fields[Name], null> };

/** Without the fields that are null. */
const given = <Fields extends object>(all: Fields): Partial<WithoutNulls<Fields>> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as Partial<WithoutNulls<Fields>>; // those left

type LocaleFields = z.output<typeof inOneLocale>;

const localizedOf = ({ subject: line, html: source, ...rest }: LocaleFields): LocalizedContent => ({
  subject: line,
  html: source,
  ...given(rest),
});

type ContentFields = Omit<z.output<typeof createBody>, 'alias' | 'name' | 'description'>;

export const contentOfFields = ({
  reply_to: replyTo,
  inline_css: inlineCss,
  ...sent
}: ContentFields): TemplateContent => ({
  ...localizedOf({ subject: sent.subject, html: sent.html, text: sent.text, preheader: sent.preheader }),
  ...given({ from: sent.from, layout: sent.layout }),
  ...(replyTo.length === 0 ? {} : { replyTo }),
  format: sent.format,
  inlineCss,
  variables: sent.variables as readonly Variable[], // `default` and `example` are whatever JSON holds
  locales: Object.fromEntries(Object.entries(sent.locales).map(([tag, one]) => [tag, localizedOf(one)])),
});

type Changes = Omit<z.output<typeof changeBody>, keyof typeof about>;

/** The content with its fields replaced by the sent ones. */
export const changedContent = (before: TemplateContent, sent: Changes): TemplateContent =>
  contentOfFields({ ...serializeContent(before), ...(sent as Partial<ContentFields>) }); // a field that was not sent is absent;
