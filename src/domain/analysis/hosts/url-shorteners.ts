/** Hosts that lead elsewhere and are shared with everybody, spammers too. */
export const URL_SHORTENERS: ReadonlySet<string> = new Set([
  ...'adf.ly bit.do bit.ly bitly.com bl.ink buff.ly clck.ru cli.gs cutt.ly db.tt dlvr.it fb.me goo.gl'.split(' '),
  ...'ift.tt is.gd j.mp kutt.it lnkd.in mcaf.ee moourl.com ow.ly po.st qr.ae rb.gy rebrand.ly'.split(' '),
  ...'s.id shorte.st short.gy short.io shorturl.at smarturl.it snip.ly soo.gd su.pr surl.li t.co t.ly t.me'.split(' '),
  ...'tiny.cc tiny.one tinyurl.com tr.im trib.al u.to urlz.fr v.gd v.ht vk.cc vzturl.com wa.link x.co'.split(' '),
]);
