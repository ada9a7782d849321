/**
 * Mailbox providers by the domains at which they give addresses to people. What companies host there under names of
 * their own is not told: statistics ask no DNS, so that the same log always makes the same counts.
 */
const DOMAINS: Readonly<Record<string, string>> = {
  gmail: 'gmail.com googlemail.com',
  outlook: `
    hotmail.com outlook.com live.com msn.com passport.com windowslive.com hotmail.be hotmail.ch hotmail.co.jp
    hotmail.co.uk hotmail.com.br hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl hotmail.se live.be live.ca
    live.co.uk live.com.au live.de live.dk live.fr live.it live.jp live.nl live.se outlook.at outlook.be
    outlook.co.uk outlook.com.br outlook.de outlook.dk outlook.es outlook.fr outlook.it outlook.jp outlook.pt
  `,
  yahoo: `
    yahoo.com ymail.com rocketmail.com myyahoo.com yahoo.ca yahoo.co.id yahoo.co.in yahoo.co.uk yahoo.com.ar
    yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.com.ph yahoo.com.sg yahoo.com.tr yahoo.com.tw yahoo.com.vn
    yahoo.de yahoo.dk yahoo.es yahoo.fr yahoo.gr yahoo.ie yahoo.in yahoo.it yahoo.nl yahoo.no yahoo.pl yahoo.ro
    yahoo.se aol.com aim.com aol.co.uk aol.de aol.fr att.net bellsouth.net sbcglobal.net verizon.net
  `,
  yahoo_japan: 'yahoo.co.jp ybb.ne.jp',
  icloud: 'icloud.com me.com mac.com privaterelay.appleid.com',
  comcast: 'comcast.net',
  proton: 'proton.me protonmail.com protonmail.ch pm.me',
  fastmail: 'fastmail.com fastmail.fm',
  zoho: 'zoho.com zohomail.com zohomail.eu',
  gmx: 'gmx.de gmx.net gmx.at gmx.ch gmx.com gmx.co.uk gmx.us mail.com',
  web_de: 'web.de',
  telekom: 't-online.de magenta.de',
  freenet: 'freenet.de',
  orange: 'orange.fr wanadoo.fr',
  free: 'free.fr',
  laposte: 'laposte.net',
  libero: 'libero.it virgilio.it iol.it inwind.it',
  seznam: 'seznam.cz email.cz post.cz',
  wp: 'wp.pl o2.pl',
  yandex: 'yandex.ru yandex.com ya.ru',
  mail_ru: 'mail.ru bk.ru inbox.ru list.ru internet.ru',
  qq: 'qq.com foxmail.com',
  netease: '163.com 126.com yeah.net',
  naver: 'naver.com',
  docomo: 'docomo.ne.jp',
};

/** Of all recipient domains that are not here. */
export const OTHER_PROVIDER = 'other';

/** Mailbox provider by recipient domain (A-labels). */
export const MAILBOX_PROVIDERS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(DOMAINS).flatMap(([provider, domains]) =>
    domains
      .trim()
      .split(/\s+/)
      .map((domain) => [domain, provider] as const),
  ),
);
