import type { z } from 'zod';
import type { sendBody } from './send-body.ts';

/** For the document, each sent by a test; ids stand for the reader's own. */
export const SEND_EXAMPLES = {
  'To one recipient': {
    from: 'Shop <hello@example.test>',
    to: 'you@example.net',
    subject: 'Your order',
    html: '<p>Thank you.</p>',
  },
  'With everything': {
    from: 'Shop <hello@example.test>',
    to: ['Ann <ann@example.net>', 'bob@example.org'],
    cc: 'carol@example.net',
    bcc: ['archive@example.test'],
    reply_to: 'help@example.test',
    subject: 'Your invoice',
    html: '<p>Your invoice is attached.</p><p><img src="cid:logo" alt="Shop" width="120"></p>',
    text: 'Your invoice is attached.',
    attachments: [
      { filename: 'invoice.txt', content: 'VG90YWw6IDQyLjAwIEVVUgo=', content_type: 'text/plain' },
      {
        filename: 'logo.gif',
        content: 'R0lGODlhAQABAAAAACwAAAAAAQABAAA=',
        content_type: 'image/gif',
        content_id: 'logo',
      },
    ],
    headers: { 'X-Order': '1234' },
    tags: [{ name: 'kind', value: 'invoice' }],
    metadata: { order: '1234' },
    stream: 'transactional',
    ttl_seconds: 86_400,
  },
} satisfies Readonly<Record<string, z.input<typeof sendBody>>>;
