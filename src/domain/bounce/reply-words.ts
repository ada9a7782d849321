import type { ReplyStage } from '../ports/mail-transport.ts';
import type { BounceCategory } from './categories.ts';

/** One row of the classifier's table. */
export interface ReplyWords {
  readonly category: BounceCategory;
  /** Matched against lower-case text without addresses, with single spaces. Must run in linear time. */
  readonly words: RegExp;
  /** Applies only if this host replied. */
  readonly mx?: RegExp;
  /**
   * Applies only if this matches the subject and detail of the enhanced code, such as `7.1`; '' if the code is absent.
   */
  readonly status?: RegExp;
  /** Applies only at this stage; `report`: in a bounce message, which does not say the stage. */
  readonly stage?: ReplyStage | 'report';
  /** Origin of the wording: a provider's documentation, or a program. */
  readonly source: string;
  /** A complete reply, such as `550 5.1.1 No such user`. The test of this row. */
  readonly example: string;
}

/** Builds rows of one category, for any host and stage. */
export const saying =
  (category: BounceCategory) =>
  (words: RegExp, source: string, example: string): ReplyWords => ({ category, words, source, example });

/** Sources that document replies. */
export const GMAIL = 'support.google.com/a/answer/3726730 (Gmail SMTP errors and codes)';
export const YAHOO = 'senders.yahooinc.com/smtp-error-codes (Yahoo, AOL)';
export const OUTLOOK = 'sendersupport.olc.protection.outlook.com/pm/troubleshooting (Outlook.com)';
export const EXCHANGE = 'learn.microsoft.com, Email non-delivery reports in Exchange Online';
export const COMCAST = 'postmaster.comcast.net/mail-error-codes.html';
export const APPLE = 'iCloud Mail, as its servers reply (support.apple.com/102322)';
export const GMX = 'postmaster.gmx.net, error messages (GMX, WEB.DE)';
export const T_ONLINE = 'postmaster.t-online.de, as its servers reply';
export const ORANGE = 'postmaster.orange.fr, as its servers reply';
export const MAIL_RU = 'postmaster.mail.ru, as its servers reply';
export const YANDEX = 'yandex.com/support/mail, as its servers reply';
export const QQ = 'service.mail.qq.com, as its servers reply';
export const NETEASE = 'help.163.com, as its servers reply (Coremail)';
export const MIMECAST = 'mimecastsupport.zendesk.com, Mimecast SMTP Error Codes';
export const PROOFPOINT = 'Proofpoint, as its servers reply (ipcheck.proofpoint.com)';
export const BARRACUDA = 'Barracuda Email Security Gateway, as it replies';
export const IRONPORT = 'Cisco Secure Email (IronPort), as it replies';
export const POSTFIX = 'Postfix source: smtpd_check.c, cleanup, smtp_connect.c';
export const EXIM = 'Exim, as its default configuration replies';
export const SENDMAIL = 'Sendmail: cf/README and sysexits.c';
export const RSPAMD = 'rspamd: milter replies of actions, greylist.lua, ratelimit.lua';
export const GREYLISTD = 'greylistd, as it replies by Exim';
export const AMAVIS = 'amavisd-new, smtp replies of final_*_destiny';
export const SPAMASSASSIN = 'spamass-milter, as it replies';
export const SISIMAI = 'Sisimai, lists of messages by reason, and the mails of its tests';
export const ZONEMTA = 'ZoneMTA, config/bounces.txt';
export const QMAIL = 'qmail source: qmail-smtpd.c, qmail-local.c, qmail-remote.c';
