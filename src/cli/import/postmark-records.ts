import { aliasOf } from '../../domain/template/template.ts';
import {
  type ImportOptions,
  named,
  noteOf,
  type RecordFields,
  type Row,
  type SuppressionRow,
  skipped,
  suppression,
  templateRow,
  textIn,
  textsIn,
} from './rows.ts';

/** Reads records from Postmark's API responses: suppressions of a stream, templates, domains. */

const POSTMARK_REASONS: Readonly<Record<string, SuppressionRow['reason']>> = {
  HardBounce: 'bounce',
  SpamComplaint: 'complaint',
};

const readSuppression = (record: RecordFields, options: ImportOptions): Row => {
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

export const readPostmark = (sent: RecordFields, options: ImportOptions): Row => {
  const record = named(sent, ['EmailAddress', 'SuppressionReason', 'Origin', 'CreatedAt']);
  if ('EmailAddress' in record) return readSuppression(record, options);
  if ('TemplateId' in record) return readTemplate(record);
  return 'SPFVerified' in record || 'DKIMVerified' in record || 'ReturnPathDomain' in record
    ? { kind: 'domain', name: textIn(record, 'Name') }
    : skipped('is no suppression, template or domain of Postmark');
};
