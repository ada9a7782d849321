import { listOf, type PostedAttachment, type PostedMail } from './posted-mail.ts';

/** Received mail as the form that SendGrid's Inbound Parse posts (RFC 7578). */

interface FormFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** Writes a name as browsers do (WHATWG HTML, multipart/form-data), so that it cannot end its header. */
const quoted = (text: string): string =>
  text
    .replace(/[\r\n\0]/g, ' ')
    .replaceAll('%', '%25')
    .replaceAll('"', '%22')
    .replaceAll('\\', '%5C');

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/;

const headOf = (name: string, file: FormFile | null): string => {
  if (file === null) return `Content-Disposition: form-data; name="${name}"\r\n\r\n`;
  const type = MEDIA_TYPE.test(file.contentType) ? file.contentType : 'application/octet-stream';
  return `Content-Disposition: form-data; name="${name}"; filename="${quoted(file.filename)}"\r\nContent-Type: ${type}\r\n\r\n`;
};

type Field = readonly [name: string, value: string | FormFile];

const formOf = (fields: readonly Field[], boundary: string): Buffer => {
  const parts = fields.flatMap(([name, value]) => {
    const isText = typeof value === 'string';
    const head = `--${boundary}\r\n${headOf(name, isText ? null : value)}`;
    return [Buffer.from(head), isText ? Buffer.from(value) : value.bytes, Buffer.from('\r\n')];
  });
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
};

/** One line for each field, whatever its value has. */
const headersOf = ({ headers }: PostedMail['body']): string =>
  headers.map(({ name, value }) => `${name}: ${value.replace(/[\r\n\0]+/g, ' ')}\n`).join('');

const filenameOf = ({ filename }: PostedAttachment, field: string): string => filename ?? field;

const named = (attachments: readonly PostedAttachment[]) =>
  attachments.map((attachment, index) => [`attachment${index + 1}`, attachment] as const);

const infoOf = (attachments: readonly PostedAttachment[]): object =>
  Object.fromEntries(
    named(attachments).map(([field, attachment]) => {
      const filename = filenameOf(attachment, field);
      const { contentType: type, contentId } = attachment;
      return [field, { filename, name: filename, type, ...(contentId === null ? {} : { 'content-id': contentId }) }];
    }),
  );

const contentIdsOf = (attachments: readonly PostedAttachment[]): object =>
  Object.fromEntries(
    named(attachments).flatMap(([field, { contentId }]) => (contentId === null ? [] : [[contentId, field]])),
  );

const filesOf = (attachments: readonly PostedAttachment[]): readonly Field[] =>
  named(attachments).map(([field, attachment]) => {
    const { contentType, content } = attachment;
    return [field, { filename: filenameOf(attachment, field), contentType, bytes: Buffer.from(content, 'base64') }];
  });

/** All text is converted to UTF-8. */
const charsetsOf = (names: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, 'UTF-8'])));

/** Only those that the mail has, as SendGrid does. */
const present = (fields: readonly (readonly [string, string | null])[]): readonly Field[] =>
  fields.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));

/** It cannot occur in the mail: the id derives from the hash of the mail. */
const boundaryOf = (inboundId: string): string => `outbox-${inboundId}`;

const formTypeOf = (inboundId: string): string => `multipart/form-data; boundary=${boundaryOf(inboundId)}`;

/** The form has the same bytes in each attempt. */
export const sendgridInbound = ({
  id,
  body,
  attachments,
  outbox,
  verdicts,
}: PostedMail): { readonly content: Uint8Array; readonly contentType: string } => {
  const texts = present([
    ['to', listOf(body.to)],
    ['cc', body.cc.length === 0 ? null : listOf(body.cc)],
    ['from', listOf(body.from) || body.envelope.from],
    ['subject', body.subject],
    ['text', body.text],
    ['html', body.html],
  ]);
  const fields: readonly Field[] = [
    ['headers', headersOf(body)],
    ['dkim', verdicts.dkim],
    ['SPF', verdicts.spf],
    ...texts,
    ['envelope', JSON.stringify({ to: body.envelope.to === '' ? [] : [body.envelope.to], from: body.envelope.from })],
    ['charsets', charsetsOf(texts.map(([name]) => name))],
    ['attachments', String(attachments.length)],
    ['attachment-info', JSON.stringify(infoOf(attachments))],
    ['content-ids', JSON.stringify(contentIdsOf(attachments))],
    ['outbox', JSON.stringify({ id, ...outbox })],
    ...filesOf(attachments),
  ];
  return { content: formOf(fields, boundaryOf(id)), contentType: formTypeOf(id) };
};
