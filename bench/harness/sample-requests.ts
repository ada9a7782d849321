import { SENDING_DOMAIN } from './provision.ts';

const HTML_BYTES = 1300;
const RECIPIENT_DOMAINS = ['example.com', 'example.net', 'example.org', 'mail.example', 'post.example'];
const REQUESTS = 100;

const ROW =
  '<tr><td align="left" style="padding:4px 8px">One pair of shoes, size 42 &amp; a half</td><td>59.90</td></tr>';
const HEAD =
  '<!doctype html><html><head><title>Your order</title></head><body bgcolor="#ffffff"><h1>Thank you!</h1><table role="presentation" width="600">';
const TAIL =
  '</table><p>It is on its way. <a href="https://shop.example/orders/1">See your order</a></p></body></html>';

const ROWS = Math.ceil((HTML_BYTES - HEAD.length - TAIL.length) / ROW.length);
const html = HEAD + ROW.repeat(ROWS) + TAIL;

const bodies = (contentOf: (order: number) => object): readonly string[] =>
  Array.from({ length: REQUESTS }, (_, number) =>
    JSON.stringify({
      from: `Shop <orders@${SENDING_DOMAIN}>`,
      to: `customer${number}@${RECIPIENT_DOMAINS[number % RECIPIENT_DOMAINS.length]}`,
      ...contentOf(1000 + number),
      tags: [{ name: 'kind', value: 'order' }],
    }),
  );

/** Bodies of sends with 1.3 kB of HTML to different recipients. */
export const SAMPLE_REQUESTS = bodies((order) => ({ subject: `Your order ${order}`, html }));

/** Layout typical for templated mail: 10 kB of nested tables, as MJML generates them. */
const CELL =
  '<table border="0" cellpadding="0" cellspacing="0" role="presentation" width="100%"><tbody><tr><td align="left" style="font-size:0;padding:10px 25px;word-break:break-word"><div style="font-family:Arial,sans-serif;font-size:16px;line-height:24px;color:#1a1a2e">Questions? Write to us &amp; we answer on the same day.</div></td></tr></tbody></table>';
const CELLS = 28;
const ITEMS = 3;

const styledHtml = (name: string, rows: string): string =>
  `${HEAD}<tr><td>Dear ${name},${CELL.repeat(CELLS)}</td></tr>${rows}${TAIL}`;

const item = { name: 'One pair of shoes, size 42 & a half', price: '59.90' };

/** Renders the variables of `TEMPLATE_REQUESTS` to the HTML of `READY_REQUESTS`. */
export const SAMPLE_TEMPLATE = {
  alias: 'order',
  name: 'Order',
  subject: 'Your order {{ order }}',
  html: styledHtml(
    '{{ name }}',
    `{% for item in items %}${ROW.replace('One pair of shoes, size 42 &amp; a half', '{{ item.name }}').replace('59.90', '{{ item.price }}')}{% endfor %}`,
  ),
  variables: [
    { name: 'order', type: 'number', required: true, example: 1 },
    { name: 'name', type: 'string', required: true, example: 'Ann' },
    { name: 'items', type: 'list', required: true, example: [item] },
  ],
};

export const TEMPLATE_REQUESTS = bodies((order) => ({
  template: {
    id: SAMPLE_TEMPLATE.alias,
    variables: { order, name: 'Ann', items: Array.from({ length: ITEMS }, () => item) },
  },
}));
export const READY_REQUESTS = bodies((order) => ({
  subject: `Your order ${order}`,
  html: styledHtml('Ann', ROW.repeat(ITEMS)),
}));

export const BATCH_PATH = '/v1/messages/batch';
export const BATCH_MESSAGES = 100;

/** Body of a batch with this many of the requests. */
export const batchOf = (requests: readonly string[], count: number): string =>
  `{"messages":[${Array.from({ length: count }, (_, number) => requests[number % requests.length]).join(',')}]}`;

/** Body of a full batch. */
export const BATCH = batchOf(SAMPLE_REQUESTS, BATCH_MESSAGES);
