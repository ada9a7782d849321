import type { ReplyStage } from '../ports/mail.ts';
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

const full = saying('mailbox_full');
const noMailbox = saying('no_mailbox');
const disabled = saying('mailbox_disabled');
const senderRejected = saying('sender_rejected');

const LISTS = 'Sisimai, lists of messages by reason';
const LAPOSTE = 'github.com/sisimai/p5-sisimai/issues/241 (laposte.net, Orange)';
const GOOGLE = 'support.google.com/mail, in this language';
/** Marks rows without a source. Their examples are written here, in words that speakers of the language would use. */
const OWN = 'our own wording';

/** Replies about the sender in languages other than English. */
export const SENDER_WORDS_BY_LANGUAGE: readonly ReplyWords[] = [
  senderRejected(
    /\b(?:remitente|remetente|exp[eé]diteur|[eé]metteur|mittente|absender\w{0,6}|absendeadresse)(?![\w-])/,
    LISTS,
    '550 5.1.0 Emetteur invalide. Invalid Sender. LPN105_405',
  ),
  senderRejected(/отправител/, OWN, '550 Адрес отправителя не существует'),
  senderRejected(/送信元|差出人|送信者/, OWN, '550 送信元のドメインは存在しません'),
];

/**
 * Replies about the recipient in languages other than English. Each pattern also names the thing that does or does not
 * exist.
 */
export const RECIPIENT_WORDS_BY_LANGUAGE: readonly ReplyWords[] = [
  full(
    /bo[iî]te\b.{0,30}\bpleine/,
    LAPOSTE,
    '552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
  ),
  full(/(?:buz[oó]n|bandeja|cuenta)\b.{0,40}\blle[nv]o?a?\b/, OWN, '552 El buzón del destinatario está lleno'),
  full(/casella\b.{0,40}\bpiena/, OWN, '552 La casella del destinatario è piena'),
  full(/caixa (?:postal|de entrada)\b.{0,40}(?:cheia|sem espaço)/, OWN, '552 5.2.2 Caixa postal cheia'),
  full(/postfach\b.{0,20}\bvoll\b|zu ?viele mails auf dem server/, OWN, '552 Das Postfach ist voll'),
  full(/ящик\S{0,3} (?:получателя )?переполнен/, OWN, '552 5.2.2 Почтовый ящик переполнен'),
  full(
    /メールボックスが(?:一杯|いっぱい)/,
    'KDDI, au one net',
    '0 送信先のメールボックスが一杯のため、送信できませんでした。',
  ),

  disabled(
    /destinataire archiv[eé]e|compte du destinataire est bloqu[eé]|n'accepte plus (?:de|les) messages?/,
    LAPOSTE,
    '550 5.5.0 Le compte du destinataire est bloque. The recipient account is blocked. LPN007_426',
  ),

  noMailbox(
    /(?:utilisateur|destinataire|adresse|compte|bo[iî]te)\b.{0,20}\binconnue?\b/,
    LISTS,
    '550 Utilisateur inconnu !',
  ),
  noMailbox(/destinataire invalide/, LAPOSTE, '550 5.5.0 Adresse destinataire invalide. Invalid recipient. LPN007_416'),
  noMailbox(
    /(?:utilisateur|destinataire|adresse|compte|bo[iî]te)\b.{0,40}n'existe (?:pas|plus)/,
    OWN,
    "550 Cette adresse n'existe pas",
  ),
  noMailbox(
    /no existe (?:dich[ao]|es[ae]|est[ae]|el|la) (?:persona|usuario|cuenta|buz[oó]n)/,
    LISTS,
    '550 No existe dicha persona',
  ),
  noMailbox(
    /(?:usuario|cuenta|destinatario|buz[oó]n) (?:desconocid[ao]|inexistente|no encontrad[ao])/,
    OWN,
    '550 Usuario desconocido',
  ),
  noMailbox(
    /(?:usuario|cuenta|destinatario|buz[oó]n|direcci[oó]n)\b.{0,50}\bno existe\b/,
    GOOGLE,
    '0 La dirección de correo electrónico del destinatario no existe',
  ),
  noMailbox(/nessun utente simile/, LISTS, '550 Nessun utente simile in questo indirizzo'),
  noMailbox(
    /(?:utente|destinatario|casella|indirizzo) (?:sconosciut[oa]|inesistente|non trovat[oa])/,
    'support.office.com, in Italian',
    '0 Cassetta postale non trovata o non valida oppure utente sconosciuto',
  ),
  noMailbox(
    /(?:utente|account|destinatario|casella|indirizzo)\b.{0,50}\bnon esiste\b/,
    GOOGLE,
    "0 L'account email che hai cercato di raggiungere non esiste",
  ),
  noMailbox(/unbekannter (?:benutzer|empf\S{1,3}nger)/, OWN, '550 Unbekannter Benutzer'),
  noMailbox(
    /(?:postfach|empf\S{1,3}nger\w?|benutzer|e-mail-adresse|adresse|konto)\b.{0,30}(?:existiert nicht|nicht (?:gefunden|vorhanden))/,
    GOOGLE,
    '0 Die E-Mail-Adresse des Empfängers existiert nicht',
  ),
  noMailbox(
    /(?:usu[aá]rio|destinat[aá]rio|conta|caixa postal) (?:desconhecid[ao]|inexistente)/,
    OWN,
    '550 5.1.1 Usuário desconhecido',
  ),
  noMailbox(
    /(?:usu[aá]rio|destinat[aá]rio|conta|caixa postal|endereço)\b.{0,30}\bn[aã]o (?:existe|(?:foi )?encontrad[ao])/,
    'nkinformatica.com.br/e-mail-voltando-com-erro',
    '550 Endereço de e-mail não existe',
  ),
  noMailbox(/нет такого (?:пользователя|адреса|ящика)|такого пользователя нет/, OWN, '550 Нет такого пользователя'),
  noMailbox(
    /(?:пользователь|ящик|получатель|адрес)\S? .{0,20}(?:не существует|не найден)/,
    OWN,
    '550 5.1.1 Пользователь не найден',
  ),
  noMailbox(/ユーザーは登録されていません/, 'dream.jp/support/techinfo/mail', '0 原因: のユーザーは登録されていません'),
  noMailbox(
    /ディレクトリには見つかりません/,
    'HCL Domino, as it replies',
    '0 ユーザー Neko は Domino ディレクトリには見つかりません。',
  ),
  noMailbox(
    /(?:アカウント|アドレス|ユーザー|宛先)\S{0,10}(?:存在しません|見つかりません)/,
    GOOGLE,
    '0 送信先のメール アカウントは存在しません',
  ),
];
