import { nameIn, type OpenApi, type OpenApiResponse } from './document.ts';

export interface DocumentedRequest {
  readonly method: string;
  /** The query is included, if any. */
  readonly path: string;
  readonly status: number;
}

/** Responses, by status, to requests that match no operation. */
const ELSEWHERE: Readonly<Record<number, string>> = {
  400: 'Malformed',
  401: 'Unauthorized',
  429: 'RateLimitExceeded',
  503: 'Unavailable',
};

/** The path of a tile contains slashes, encoded or not. */
const asPattern = (template: string): RegExp =>
  new RegExp(`^${template.replace('{tile}', '.*').replaceAll(/\{\w+\}/g, '[^/]*')}$`);

const parameters = (template: string): number => template.split('{').length;

const isDecodable = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
};

/** Statuses with which Node rejects a request before it is routed: headers too large, or not received in time. */
const BEFORE = new Set([408, 431]);

/** Finds the documented response for an answer. undefined: the document has none. */
export const responseFinder = ({
  paths,
  components,
  'x-elsewhere': nowhere,
}: OpenApi): ((asked: DocumentedRequest) => OpenApiResponse | undefined) => {
  // The most specific path comes first: `/v1/messages/send` is not an id.
  const known = Object.entries(paths)
    .sort(([left], [right]) => parameters(left) - parameters(right))
    .map(([template, operations]) => ({ pattern: asPattern(template), operations }));

  const resolve = (one: OpenApiResponse | { readonly $ref: string } | undefined): OpenApiResponse | undefined =>
    one !== undefined && '$ref' in one ? components.responses[nameIn(String(one.$ref))] : (one as OpenApiResponse);

  /** Only an existing path can be requested with a wrong method. */
  const elsewhere = (isThere: boolean, status: number): OpenApiResponse | undefined =>
    status === 405 && !isThere ? undefined : (nowhere[status] ?? components.responses[ELSEWHERE[status] ?? '']);

  return ({ method, path, status }) => {
    if (BEFORE.has(status)) return components.responses.Malformed;
    const [plain = ''] = path.split('?');
    const name = method === 'HEAD' ? 'get' : method.toLowerCase();
    const matching = known.filter(({ pattern }) => isDecodable(plain) && pattern.test(plain));
    // An exact path wins, whatever the method.
    const found = plain in paths ? matching.slice(0, 1) : matching;
    const operation = found.map(({ operations }) => operations[name]).find((one) => one !== undefined);
    if (operation !== undefined) return resolve(operation.responses[String(status)]);
    return elsewhere(found.length > 0, status);
  };
};
