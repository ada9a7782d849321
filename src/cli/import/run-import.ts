import { aliasOf } from '../../domain/template/template.ts';
import { type Invocation, optional, required, type ServiceCommand } from '../command.ts';
import { ServiceRefused } from '../customer/service.ts';
import { CommandFailed, UsageError } from '../terminal.ts';
import { readRecords } from './read-records.ts';
import {
  type ImportOptions,
  LISTS,
  named,
  noteOf,
  objectsIn,
  type RecordFields,
  type Row,
  type SuppressionList,
  type SuppressionRow,
  skipped,
  suppression,
  templateRow,
  textIn,
  textsIn,
} from './rows.ts';
import { createImport, createTally, sentence } from './take-rows.ts';

/** Reads records from Postmark's API responses: suppressions of a stream, templates, domains. */

const POSTMARK_REASONS: Readonly<Record<string, SuppressionRow['reason']>> = {
  HardBounce: 'bounce',
  SpamComplaint: 'complaint',
};

const readPostmarkSuppression = (record: RecordFields, options: ImportOptions): Row => {
  const [why, origin] = [textIn(record, 'SuppressionReason'), textIn(record, 'Origin')];
  const reason = POSTMARK_REASONS[why] ?? (origin === 'Recipient' ? 'unsubscribe' : 'manual');
  const note = noteOf('Postmark', record.CreatedAt, [why, origin].filter((one) => one !== '').join(' by '));
  return suppression({ address: textIn(record, 'EmailAddress'), reason, note }, options);
};

const readTemplate = (record: RecordFields): Row => {
  const layout = textIn(record, 'LayoutTemplate');
  return templateRow(
    aliasOf(textIn(record, 'Alias') || String(record.TemplateId)),
    textsIn(record, ['Name', 'Subject', 'HtmlBody', 'TextBody']),
    { raw: true },
    { inline_css: true, ...(layout === '' ? {} : { layout: aliasOf(layout) }) },
  );
};

const readPostmark = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['EmailAddress', 'SuppressionReason', 'Origin', 'CreatedAt']);
  if ('EmailAddress' in record) return readPostmarkSuppression(record, options);
  if ('TemplateId' in record) return readTemplate(record);
  return 'SPFVerified' in record || 'DKIMVerified' in record || 'ReturnPathDomain' in record
    ? { kind: 'domain', name: textIn(record, 'Name') }
    : skipped('is not a suppression, template or domain of Postmark');
};

/** Reads records from Resend's API responses: suppressions, contacts, templates, domains. */

const RESEND_REASONS: Readonly<Record<string, SuppressionRow['reason']>> = {
  bounce: 'bounce',
  complaint: 'complaint',
  manual: 'manual',
};

const resendTemplate = (record: RecordFields): Row => {
  const declared = new Map(
    objectsIn(record.variables).map((one) => [
      textIn(one, 'key'),
      { type: textIn(one, 'type'), fallback: one.fallback_value },
    ]),
  );
  const alias = aliasOf(textIn(record, 'alias') || textIn(record, 'id'));
  const from = textIn(record, 'from');
  return templateRow(
    alias,
    textsIn(record, ['name', 'subject', 'html', 'text']),
    { raw: false, declared },
    {
      ...(from === '' ? {} : { from }),
      ...(Array.isArray(record.reply_to) ? { reply_to: record.reply_to } : {}),
    },
  );
};

const readResendSuppression = (record: RecordFields, options: ImportOptions): Row => {
  const origin = textIn(record, 'origin');
  const reason = RESEND_REASONS[origin] ?? 'import';
  return suppression(
    { address: textIn(record, 'email'), reason, note: noteOf('Resend', record.created_at, origin) },
    options,
  );
};

const readContact = (record: RecordFields, options: ImportOptions): Row => {
  if (String(record.unsubscribed).toLowerCase() !== 'true') return skipped('the contact has not unsubscribed');
  const note = noteOf('Resend', undefined, 'unsubscribed');
  return suppression({ address: textIn(record, 'email'), reason: 'unsubscribe', note }, options);
};

const isTemplate = (record: RecordFields): boolean =>
  'html' in record || 'current_version_id' in record || 'alias' in record;

const readResend = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['email', 'origin', 'created_at', 'unsubscribed']);
  if ('origin' in record) return readResendSuppression(record, options);
  if ('unsubscribed' in record) return readContact(record, options);
  if (isTemplate(record)) return resendTemplate(record);
  return 'region' in record || 'records' in record
    ? { kind: 'domain', name: textIn(record, 'name') }
    : skipped('is not a suppression, contact, template or domain of Resend');
};

/** Reads records from SendGrid's API responses and page exports: suppressions, dynamic templates, domains. */

const LIST_REASONS: Readonly<Record<Exclude<SuppressionList, 'blocks'>, SuppressionRow['reason']>> = {
  bounces: 'bounce',
  invalid_emails: 'bounce',
  spam_reports: 'complaint',
  complaints: 'complaint',
  unsubscribes: 'unsubscribe',
};

const LIST_MISSING = `say which list this file contains: --list ${LISTS.join('|')}`;

const sendgridSuppression = (record: RecordFields, options: ImportOptions): Row => {
  const { list } = options;
  if (list === undefined) throw new UsageError(LIST_MISSING);
  if (list === 'blocks') return skipped('blocks are temporary, so the address is not suppressed');
  const evidence = [textIn(record, 'status'), textIn(record, 'reason')].filter((one) => one !== '').join(' ');
  const note = noteOf(`SendGrid ${list}`, record.created, evidence);
  return suppression({ address: textIn(record, 'email'), reason: LIST_REASONS[list], note }, options);
};

const sendgridTemplate = (record: RecordFields): Row => {
  const id = textIn(record, 'id');
  if (!id.startsWith('d-'))
    return skipped('is a legacy template, which cannot be converted: recreate it as a dynamic template');
  const versions = objectsIn(record.versions);
  const version = versions.find(({ active }) => Number(active) === 1) ?? versions[0];
  if (version === undefined) return skipped('has no version');
  const texts = textsIn(version, ['name', 'subject', 'html_content', 'plain_content']);
  return templateRow(id, { ...texts, name: textIn(record, 'name') || texts.name }, { raw: true });
};

const readSendgrid = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['email', 'created', 'reason', 'status']);
  if ('email' in record) return sendgridSuppression(record, options);
  if ('versions' in record) return sendgridTemplate(record);
  return 'domain' in record
    ? { kind: 'domain', name: textIn(record, 'domain') }
    : skipped('is not a suppression, template or domain of SendGrid');
};

/** Reads records from Mailgun's API responses and exports: bounces, complaints, unsubscribes, domains. */

/** Fields that only one of its lists has. */
const MAILGUN_LISTS: readonly (readonly [field: string, list: SuppressionList])[] = [
  ['code', 'bounces'],
  ['tags', 'unsubscribes'],
];

const mailgunSuppression = (record: RecordFields, options: ImportOptions): Row => {
  const list = options.list ?? MAILGUN_LISTS.find(([field]) => field in record)?.[1];
  if (list === undefined || list === 'blocks') throw new UsageError(LIST_MISSING);
  const evidence = [String(record.code ?? ''), textIn(record, 'error')].filter((one) => one !== '').join(' ');
  const note = noteOf(`Mailgun ${list}`, record.created_at, evidence);
  return suppression({ address: textIn(record, 'address'), reason: LIST_REASONS[list], note }, options);
};

const readMailgun = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['address', 'code', 'error', 'tags', 'created_at']);
  if ('address' in record) return mailgunSuppression(record, options);
  return 'name' in record && 'state' in record
    ? { kind: 'domain', name: textIn(record, 'name') }
    : skipped('is not a suppression or domain of Mailgun');
};

/**
 * Imports suppressions, templates and domains from another service's export, through the API of a running service.
 * Records are independent and existing ones stay unchanged, so an import can be repeated to complete an interrupted
 * one.
 */

const READERS = { resend: readResend, postmark: readPostmark, sendgrid: readSendgrid, mailgun: readMailgun };

const oneOf = <Name extends string>(
  invocation: Invocation,
  option: string,
  names: readonly Name[],
): Name | undefined => {
  const given = optional(invocation, option);
  const found = names.find((name) => name === given);
  if (given !== undefined && found === undefined)
    throw new UsageError(`--${option} must be one of ${names.join(', ')}`);
  return found;
};

type Vendor = keyof typeof READERS;
const VENDORS = Object.keys(READERS) as Vendor[]; // the keys of this constant

const vendorIn = ({ positionals }: Invocation): Vendor => {
  const [name, more] = positionals;
  const vendor = VENDORS.find((one) => one === name);
  if (vendor === undefined || more !== undefined) throw new UsageError(`expected one of ${VENDORS.join(', ')}`);
  return vendor;
};

const optionsOf = (invocation: Invocation): ImportOptions => ({
  scope: oneOf(invocation, 'scope', ['all', 'transactional', 'bulk']) ?? 'all',
  list: oneOf(invocation, 'list', LISTS),
});

/** Their files do not name the list that they contain. */
const MAY_NEED_LIST: readonly Vendor[] = ['sendgrid', 'mailgun'];

/** Reads the whole file if it may need an option, so that a missing one fails before the first request. @throws {UsageError} */
const checkOptions = async (vendor: Vendor, file: string, options: ImportOptions): Promise<void> => {
  if (options.list !== undefined || !MAY_NEED_LIST.includes(vendor)) return;
  for await (const { fields } of readRecords(file)) READERS[vendor](fields, options);
};

/** Imports the records of a file. */
export const runImport: ServiceCommand['run'] = async (service, invocation, terminal) => {
  const vendor = vendorIn(invocation);
  const file = required(invocation, 'file');
  const options = optionsOf(invocation);
  await checkOptions(vendor, file, options);
  const isDry = invocation.values['dry-run'] === true;
  const work = { tally: createTally(), service: isDry ? null : service };
  const progress = terminal.progress('import');
  const importing = createImport(work);
  let read = 0;
  try {
    for await (const record of readRecords(file)) {
      const place = { record: read + 1, line: record.line };
      await importing.take(place, READERS[vendor](record.fields, options));
      read += 1;
      progress.at(read, undefined, 'records');
    }
    await importing.flush();
  } catch (error) {
    if (!(error instanceof ServiceRefused)) throw error;
    throw new CommandFailed(
      `after ${read} records: ${sentence(error)}. Import the file again: existing records stay as they are`,
    );
  } finally {
    progress.end();
  }
  return work.tally.result(read, isDry);
};
