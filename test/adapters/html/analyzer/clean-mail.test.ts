import { describe, expect, test } from 'vitest';
import { analysed } from './analysed.ts';

const PREHEADER = `<div style="display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0;max-width:0;opacity:0;
overflow:hidden">Your parcel is on its way</div><div style="display:none;max-height:0;overflow:hidden">${'&#847;&zwnj;&nbsp;'.repeat(150)}</div>`;

/** Typical output of mail tools: conditional comments, VML, ghost tables, a preheader and media queries. */
const TRANSACTIONAL = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html lang="en" xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8"><title>Order 17</title>
<!--[if mso]><xml><o:OfficeDocumentSettings><o:AllowPNG/></o:OfficeDocumentSettings></xml><![endif]-->
<style type="text/css">
  body { margin: 0 } #outlook a { padding: 0 }
  @media only screen and (max-width:600px) { .mobile { display: block !important; max-height: none !important } .x{{color:red}}
</style>
</head>
<body style="word-spacing:normal;background-color:#f4f4f4;">
${PREHEADER}
<div style="background-color:#f4f4f4"><!--[if mso | IE]><table align="center" width="600"><tr><td style="line-height:0;font-size:0;"><![endif]-->
<table align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="background:#ffffff;width:100%">
<tbody><tr><td style="direction:ltr;font-size:0px;padding:20px 0;text-align:center;">
<div style="font-size:0px;text-align:left;display:inline-block;width:100%;"><table role="presentation" width="100%"><tr>
<td align="left" style="font-size:0px;padding:10px 25px;"><div style="font-family:Helvetica;font-size:13px;line-height:1;color:#000000;">
Hello Ann, thank you for your order of Friday. It left our house today &amp; arrives tomorrow. 100%% sure, $5 {not a marker}.</div></td></tr>
<tr><td align="center" style="font-size:0px"><a href="https://www.shop.example/orders/17?a=1&amp;copy=2" target="_blank"
style="display:inline-block;background:#007bff;color:#ffffff;font-size:15px">Track your parcel</a></td></tr>
<tr><td style="font-size:13px"><a href="https://shop.example/">www.shop.example</a> <a href="mailto:help@shop.example">help@shop.example</a> <a href="tel:+4912345">+49 12345</a>
<a href="https://help.shop.example/a">https://shop.example/help</a> Node.js and readme.md</td></tr>
<tr><td><img alt="Shop" height="40" src="https://cdn.shop.example/logo.png" style="border:0" width="120"><img src="cid:sign" alt="" width="80"></td></tr>
</table></div></td></tr></tbody></table>
<div class="mobile" style="display:none;max-height:0;overflow:hidden;mso-hide:all">The same once more for telephones</div>
<!--[if mso | IE]></td></tr></table><![endif]--></div>
</body></html>`;

describe('mail as common tools write it', () => {
  test('has only informational findings', () => {
    const analysis = analysed({
      html: TRANSACTIONAL,
      text: 'Hello Ann, thank you for your order of Friday. It left our house today and arrives tomorrow.\nhttps://www.shop.example/orders/17?a=1&copy=2',
      attachments: [{ filename: 'sign.png', contentType: 'image/png', contentId: 'sign', content: 'iVBORw0KGgo=' }],
    });
    expect(analysis.findings).toEqual([]);
    expect(analysis).toMatchObject({ score: 100, verdict: 'pass' });
  });

  test.each([
    [
      'Привет, Анна!',
      '<p lang="ru">Спасибо за ваш заказ № 17. Он отправлен сегодня.</p>',
      'Спасибо за ваш заказ № 17.',
    ],
    [
      'ご注文ありがとうございます',
      '<p>ご注文の商品を本日発送いたしました。到着までしばらくお待ちください。</p>',
      'ご注文の商品を本日発送いたしました。',
    ],
    ['مرحبا', '<p dir="rtl">شكرا لطلبك من متجرنا، تم إرساله اليوم.</p>', 'شكرا لطلبك من متجرنا، تم إرساله اليوم.'],
    [
      'Déjà envoyé – “café” à 5 €…',
      '<p>Ça arrive à Noël ; “naïve” – ÂGE, NÃO, Ãœ?</p>'.replace('Ãœ', 'Ü'),
      'Ça arrive à Noël',
    ],
    ['👋 Welcome', '<p>Hello 👩‍👩‍👧 family</p>', 'Hello 👩‍👩‍👧 family'],
    ['[Shop] Re-order now', '<p>Only today: 50% off</p>', 'Only today: 50% off'],
    ['USA: FAQ', '<pre>if (a &lt; b &amp;&amp; c) { x(); }</pre>', 'if (a < b && c) { x(); }'],
  ])('in any language and script passes: %s', (subject, html, text) => {
    expect(analysed({ subject, html, text })).toMatchObject({ findings: [], score: 100, verdict: 'pass' });
  });
});
