export declare const neededNode: string
export declare const isTooOld: boolean
export declare const nodePackage: string
