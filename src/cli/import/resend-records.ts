import { aliasOf } from '../../domain/template/template.ts';
import {
  type ImportOptions,
  named,
  noteOf,
  objectsIn,
  type RecordFields,
  type Row,
  type SuppressionRow,
  skipped,
  suppression,
  templateRow,
  textIn,
  textsIn,
} from './rows.ts';

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

const readSuppression = (record: RecordFields, options: ImportOptions): Row => {
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

export const readResend = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['email', 'origin', 'created_at', 'unsubscribed']);
  if ('origin' in record) return readSuppression(record, options);
  if ('unsubscribed' in record) return readContact(record, options);
  if (isTemplate(record)) return resendTemplate(record);
  return 'region' in record || 'records' in record
    ? { kind: 'domain', name: textIn(record, 'name') }
    : skipped('is no suppression, contact, template or domain of Resend');
};
