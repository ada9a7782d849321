/** The part of `mjml` that the service uses: the package has no types of its own. */
declare module 'mjml' {
  namespace mjml2html {
    interface MjmlError {
      readonly line: number;
      readonly tagName: string;
      readonly message: string;
    }
    interface MjmlOptions {
      readonly fonts: Readonly<Record<string, string>>;
      readonly ignoreIncludes: boolean;
      readonly filePath: string;
      readonly keepComments: boolean;
      readonly noMigrateWarn: boolean;
      readonly validationLevel: 'strict' | 'skip';
    }
  }
  /** @throws an `Error` with `errors`, an array of `MjmlError`, for what `strict` does not allow. */
  function mjml2html(source: string, options: mjml2html.MjmlOptions): { readonly html: string };
  export = mjml2html;
}
