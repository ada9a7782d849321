/** RFC 6761, RFC 6762, RFC 8375 and what is used in house. */
const PRIVATE_ENDINGS = ['.localhost', '.local', '.internal', '.intranet', '.lan', '.home', '.corp', '.home.arpa'];

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
/** ::, ::1, fc00::/7, fe80::/10. */
const PRIVATE_IPV6 = /^\[(?:::1?\]|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:)/;
/** RFC 4291 §2.5.5.2, as the URL Standard writes it. */
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** First octet, and bounds of the second: this network, private use, loopback, link-local, shared space (RFC 6890). */
const PRIVATE_IPV4: readonly (readonly [number, number, number])[] = [
  [0, 0, 255],
  [10, 0, 255],
  [100, 64, 127],
  [127, 0, 255],
  [169, 254, 254],
  [172, 16, 31],
  [192, 168, 168],
];

const isPrivateIpv4 = (first: number, second: number): boolean =>
  PRIVATE_IPV4.some(([octet, low, high]) => first === octet && second >= low && second <= high);

/** Whether a URL's host is a literal address. */
export const isIpAddress = (host: string): boolean => host.startsWith('[') || IPV4.test(host);

/** Whether a URL's host means something only on the sender's own machine or network. */
export const isPrivateHost = (host: string): boolean => {
  const ipv4 = IPV4.exec(host);
  if (ipv4 !== null) return isPrivateIpv4(Number(ipv4[1]), Number(ipv4[2]));
  const mapped = MAPPED_IPV4.exec(host);
  if (mapped !== null) {
    const high = Number.parseInt(mapped[1] ?? '0', 16);
    return isPrivateIpv4(high >> 8, high & 0xff);
  }
  if (host.startsWith('[')) return PRIVATE_IPV6.test(host);
  return !host.includes('.') || PRIVATE_ENDINGS.some((ending) => host.endsWith(ending));
};
