import {
  type ImportOptions,
  named,
  noteOf,
  objectsIn,
  type RecordFields,
  type Row,
  SENDGRID_LISTS,
  type SendgridList,
  type SuppressionRow,
  skipped,
  suppression,
  templateRow,
  textIn,
  textsIn,
} from './rows.ts';

/** Reads records from SendGrid's API responses and page exports: suppressions, dynamic templates, domains. */

const SENDGRID_REASONS: Readonly<Record<Exclude<SendgridList, 'blocks'>, SuppressionRow['reason']>> = {
  bounces: 'bounce',
  invalid_emails: 'bounce',
  spam_reports: 'complaint',
  unsubscribes: 'unsubscribe',
};

const sendgridSuppression = (record: RecordFields, options: ImportOptions): Row => {
  const { list } = options;
  if (list === undefined) return skipped(`name the list of this file: --list ${SENDGRID_LISTS.join('|')}`);
  if (list === 'blocks') return skipped('a block is no refusal for good: the address may be sent to');
  const evidence = [textIn(record, 'status'), textIn(record, 'reason')].filter((one) => one !== '').join(' ');
  const note = noteOf(`SendGrid ${list}`, record.created, evidence);
  return suppression({ address: textIn(record, 'email'), reason: SENDGRID_REASONS[list], note }, options);
};

const sendgridTemplate = (record: RecordFields): Row => {
  const id = textIn(record, 'id');
  if (!id.startsWith('d-')) return skipped('is a legacy template, which replaces texts: write it anew');
  const versions = objectsIn(record.versions);
  const version = versions.find(({ active }) => Number(active) === 1) ?? versions[0];
  if (version === undefined) return skipped('has no version');
  const texts = textsIn(version, ['name', 'subject', 'html_content', 'plain_content']);
  return templateRow(id, { ...texts, name: textIn(record, 'name') || texts.name }, { raw: true });
};

export const readSendgrid = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['email', 'created', 'reason', 'status']);
  if ('email' in record) return sendgridSuppression(record, options);
  if ('versions' in record) return sendgridTemplate(record);
  return 'domain' in record
    ? { kind: 'domain', name: textIn(record, 'domain') }
    : skipped('is no suppression, template or domain of SendGrid');
};
