import { z } from 'zod';
import type { UsedTemplate, UseTemplate } from '../../../commands/template/use-template.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { type Mailbox, parseMailbox } from '../../../lib/mime/mime.ts';
import { detailsOf, type Problem, parseBody } from '../../validation/problems.ts';
import { localeField, variablesField } from '../templates/template-fields.ts';
import { type HtmlPolicy, isHtmlAlone } from './html-rules.ts';
import { isSent, type SendBody, type SentFields, sendBody, sendProblems } from './send-body.ts';
import { mailbox } from './send-fields.ts';

/** A send whose text is rendered from a template: it names the template instead of subject, html and text. */

const ID_CHARACTERS_MAX = 64;

const template = z.strictObject({
  id: z.string().min(1).max(ID_CHARACTERS_MAX).describe('Id or alias of a template.'),
  version: z.int().min(1).optional().describe('Number of the version; the published one when absent.'),
  locale: localeField.optional(),
  variables: variablesField.default({}).describe('Values for its variables, by name.'),
});

export const sendRequestBody = sendBody.extend({
  from: mailbox
    .optional()
    .describe(
      'An address on the domain of the key, alone or as `Name <address>`. Required, unless the template has one.',
    ),
  subject: sendBody.shape.subject.optional().describe('One line. Required without a template.'),
  template: template
    .optional()
    .describe(
      'Template that replaces subject, html and text. It is rendered now: later versions do not change the message.',
    ),
});
export type SendRequestBody = z.output<typeof sendRequestBody>;

const RENDERED = ['subject', 'html', 'text'] as const;

const templateProblems = (sent: SentFields): readonly Problem[] => {
  if (sent.template === undefined) {
    return (['from', 'subject'] as const).flatMap((field): readonly Problem[] =>
      sent[field] === undefined ? [[field, `${field} is required`]] : [],
    );
  }
  return RENDERED.flatMap((field): readonly Problem[] =>
    sent[field] === undefined ? [] : [[field, `${field} is not allowed beside template, which makes it`]],
  );
};

/** Finds problems of a send that its schema cannot find. */
export const sendRequestProblems =
  (policy: HtmlPolicy) =>
  async (body: unknown, caller: Pick<Caller, 'organizationId'>): Promise<readonly Problem[]> => [
    ...(await sendProblems(policy)(body, caller)),
    ...(isSent(body) ? templateProblems(body) : []),
  ];

/** Problems reported for one message of a batch. */
const PROBLEMS_MAX = 20;

/**
 * Validates one message of a batch as a single send is validated.
 * @throws {DomainError} `invalid_request`, `invalid_html`.
 */
export const readSend = async (
  policy: HtmlPolicy,
  sent: unknown,
  sender: Pick<Caller, 'organizationId'>,
): Promise<SendRequestBody> => {
  if (!isSent(sent)) throw new DomainError('invalid_request', 'a message must be an object');
  const body = parseBody(sendRequestBody, sent);
  const problems = [...body.problems, ...(await sendRequestProblems(policy)(body.data, sender))];
  if (problems.length === 0 && body.output !== undefined) return body.output;
  const code = isHtmlAlone(problems) ? 'invalid_html' : 'invalid_request';
  throw new DomainError(code, 'the message is invalid: see details', { details: detailsOf(problems, PROBLEMS_MAX) });
};

/** A complete body, and the template that it was rendered from. */
export interface CompleteSend {
  readonly body: SendBody;
  readonly template: Pick<UsedTemplate, 'templateId' | 'version'> | null;
  /** Why it cannot be sent just now, in which case the body is a stand-in: a repeat may have been accepted before. */
  readonly refusal: DomainError | null;
}

/** An address that a template makes. @throws {DomainError} `template_variables_invalid`. */
export const mailboxOfTemplate = (field: 'from' | 'reply_to', text: string): Mailbox => {
  const parsed = parseMailbox(text);
  if (typeof parsed !== 'string') return parsed;
  const problem = `template: its ${field} is not an email address with these variables: ${parsed}`;
  throw new DomainError('template_variables_invalid', problem, { details: { template: [problem] } });
};

const senderOf = (from: Mailbox | undefined, { rendered }: UsedTemplate): Mailbox => {
  if (from !== undefined) return from;
  if (rendered.from !== undefined) return mailboxOfTemplate('from', rendered.from);
  const problem = 'from is required: the template has none';
  throw new DomainError('invalid_request', problem, { details: { from: [problem] } });
};

const requireSubject = ({ rendered: { subject } }: UsedTemplate): string => {
  if (subject !== '') return subject;
  const problem = 'template: its subject is empty with these variables';
  throw new DomainError('template_variables_invalid', problem, { details: { template: [problem] } });
};

const filledIn = (body: Omit<SendRequestBody, 'template'>, used: UsedTemplate): SendBody => {
  const { html, text, replyTo } = used.rendered;
  const answers = body.reply_to ?? replyTo?.map((each) => mailboxOfTemplate('reply_to', each));
  return {
    ...body,
    from: senderOf(body.from, used),
    subject: requireSubject(used),
    html,
    ...(text === undefined ? {} : { text }),
    ...(answers === undefined ? {} : { reply_to: answers }),
  };
};

/** The body with what its template makes of it. */
export const completeSend = async (
  use: UseTemplate,
  { domain }: Pick<Caller, 'domain'>,
  sent: SendRequestBody,
): Promise<CompleteSend> => {
  // From and subject are there: its problems were looked for.
  if (sent.template === undefined) return { body: sent as SendBody, template: null, refusal: null };
  const { template: asked, ...body } = sent;
  const { id, version = null, locale = null, variables } = asked;
  try {
    const used = await use({ id, version, locale, variables });
    return {
      body: filledIn(body, used),
      template: { templateId: used.templateId, version: used.version },
      refusal: null,
    };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const standIn = { from: { address: `template@${domain.name}` }, subject: '-', text: '-' };
    return { body: { ...body, ...standIn }, template: null, refusal: error };
  }
};
