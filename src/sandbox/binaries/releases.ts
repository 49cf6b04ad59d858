/** The version of Kubernetes that is built from the Go modules in `build/`. */
export const KUBERNETES_VERSION = 'v1.36.3';

/** The version of etcd that is built from the Go modules in `build/`. */
export const ETCD_VERSION = 'v3.6.8';

/** The newest patch version of Kubernetes 1.36 for which there is an official archive of the programs. */
export const ARCHIVE_VERSION = 'v1.36.2';

/** An official archive of etcd, kube-apiserver and kubectl for one platform. */
export interface Archive {
  readonly url: string;
  readonly sha512: string;
}

// The checksums of the official archives come from envtest-releases.yaml of kubernetes-sigs/controller-tools, commit 43475818
// of 20 July 2026.
const sha512ByPlatform: Readonly<Record<string, string>> = {
  'linux-amd64':
    'ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08',
  'linux-arm64':
    '2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac',
  'darwin-amd64':
    'b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514',
  'darwin-arm64':
    '9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce',
};

/** Returns the name of a platform as Go's tools write it: `linux-amd64`. */
export function platformName(platform: string, arch: string): string {
  return `${platform}-${arch === 'x64' ? 'amd64' : arch}`;
}

/** Returns the official archive for a platform; undefined if there is none or its checksum is not known. */
export function archiveFor(platform: string): Archive | undefined {
  const sha512 = sha512ByPlatform[platform];
  if (sha512 === undefined) return undefined;
  const name = `envtest-${ARCHIVE_VERSION}`;
  return {
    url: `https://github.com/kubernetes-sigs/controller-tools/releases/download/${name}/${name}-${platform}.tar.gz`,
    sha512,
  };
}
