/** DER tags (X.690 §8.1.2). */
const SEQUENCE = 0x30;
const EXPLICIT_VERSION = 0xa0;
/** Serial number, algorithm, issuer, validity and subject stand before it (RFC 5280 §4.1). */
const FIELDS_BEFORE_KEY = 5;

interface Element {
  readonly tag: number;
  /** Where its contents begin. */
  readonly inside: number;
  readonly end: number;
}

/** @throws {RangeError} there is none. */
const elementAt = (der: Buffer, at: number): Element => {
  const tag = der.readUInt8(at);
  const first = der.readUInt8(at + 1);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const inside = at + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes);
  if (inside + length > der.length) throw new RangeError('an element is longer than the certificate');
  return { tag, inside, end: inside + length };
};

/**
 * The SubjectPublicKeyInfo of a certificate, byte for byte as it stands there: TLSA records with selector 1 are about
 * these bytes (RFC 6698 §2.1.2), and a key that is read and written again may have others.
 * @throws {RangeError} it is no certificate.
 */
export const certificateKey = (der: Buffer): Buffer => {
  const signed = elementAt(der, elementAt(der, 0).inside);
  const version = elementAt(der, signed.inside);
  let at = version.tag === EXPLICIT_VERSION ? version.end : signed.inside;
  for (let field = 0; field < FIELDS_BEFORE_KEY; field += 1) at = elementAt(der, at).end;
  const key = elementAt(der, at);
  if (key.tag !== SEQUENCE) throw new RangeError('there is no key where the key should be');
  return der.subarray(at, key.end);
};
