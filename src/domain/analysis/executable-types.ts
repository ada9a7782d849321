const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Endings of what runs when it is opened, on some system. Gmail refuses most, Outlook all of those for Windows. */
export const EXECUTABLE_TYPES = names(
  'ade adp apk app appimage application appref-ms appx appxbundle asp bash bat bin cab chm cmd com command cpl ' +
    'csh deb desktop diagcab diagcfg diagpkg dll dmg dylib elf ex ex_ exe gadget hlp hta img inf ins iso isp jar jnlp ' +
    'js jse ksh lib library-ms lnk mad maf mam mda mde mdt msc msh msh1 msh2 msi msix msixbundle msp mst msu nsh ocx ' +
    'osd out pcd pif pkg pl prf prg ps1 ps1xml ps2 psc1 psc2 psd1 psdm1 psm1 pyc pyo reg rpm run scf scpt scr sct sh ' +
    'shb shs so sys theme url vb vbe vbp vbs vhd vhdx vsmacros vsw vxd webpnp workflow ws wsc wsf wsh xbap xll xnk zsh',
);

/** Media types under which receivers take a file for a program, whatever its name is. */
export const EXECUTABLE_MEDIA_TYPES = names(
  'application/bat application/hta application/java-archive application/javascript application/vnd.android.package-archive ' +
    'application/vnd.microsoft.portable-executable application/x-bat application/x-csh application/x-dosexec ' +
    'application/x-elf application/x-executable application/x-javascript application/x-mach-binary ' +
    'application/x-ms-shortcut application/x-msdos-program application/x-msdownload application/x-msi ' +
    'application/x-powershell application/x-sh application/x-shellscript text/javascript text/vbscript ' +
    'text/x-shellscript',
);

/** A program that carries one of these before its own ending pretends to be one. */
export const DOCUMENT_TYPES = names(
  'avi bmp csv doc docx eml gif htm html jpeg jpg key mov mp3 mp4 odp ods odt pages pdf png ppt pptx rtf svg tif tiff ' +
    'txt wav webp xls xlsx xml zip',
);

export const ARCHIVE_TYPES = names('7z ace arj bz2 gz lha lz lzh lzma rar tar tbz tgz txz xz z zip zipx zst');

/** How programs begin, in hexadecimal. */
export const PROGRAM_HEADS: readonly (readonly [string, string])[] = [
  ['4d5a', 'a Windows program'],
  ['7f454c46', 'a Linux program'],
  ['2321', 'a script'],
  ['feedface', 'a macOS program'],
  ['feedfacf', 'a macOS program'],
  ['cefaedfe', 'a macOS program'],
  ['cffaedfe', 'a macOS program'],
  ['cafebabe', 'a Java or macOS program'],
  ['4c000000011402', 'a Windows shortcut'],
];
