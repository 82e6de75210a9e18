use crate::arguments::Arguments;
use crate::sources::{self, OfKernel};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use std::path::PathBuf;
use syn::ext::IdentExt;
use syn::{Error, FnArg, Ident, ItemFn, Pat, Result, ReturnType, Type, parse2};

/// A parameter after the block.
struct Parameter {
    name: Ident,
    ty: Type,
    shared: bool,
    /// The parameter as it was written.
    pattern: Pat,
}

/// The kernel `function`, which stands in `file`.
pub fn expand(arguments: TokenStream, function: TokenStream, file: Option<PathBuf>) -> Result<TokenStream> {
    let Arguments { threads, min_blocks, max_registers, cluster, early, targets } = parse2(arguments)?;
    let mut function: ItemFn = parse2(function)?;
    check_signature(&function, cluster.is_some())?;
    let parameters = take_parameters(&mut function)?;

    let name = &function.sig.ident;
    let name_text = name.unraw().to_string();
    let visibility = &function.vis;
    let shared_types: Vec<&Type> = parameters.iter().filter(|p| p.shared).map(|p| &p.ty).collect();
    // The parts lie behind each other, as the fields of a nested pair.
    let shared = shared_types.iter().rev().fold(quote!(()), |rest, ty| quote!((#ty, #rest)));
    let built = (!targets.is_empty())
        .then(|| quote!(#[cfg(any(not(target_arch = "nvptx64"), #(target_feature = #targets),*))]));
    let blocks = cluster.map(|dimensions| dimensions.iter().product::<u32>() as usize);
    let device = device_entry(&function, &parameters, &shared, blocks, early);
    let host = host_launch(&function, &parameters, &shared, blocks);
    let [x, y, z] = cluster.unwrap_or([1; 3]);
    let given: Vec<&Parameter> = parameters.iter().filter(|p| !p.shared).collect();
    let types: Vec<&Type> = given.iter().map(|p| &p.ty).collect();
    let params: Vec<String> = given.iter().map(|p| format!("param {}=", ascii(&p.text()))).collect();
    let OfKernel { crate_name, hash, dependencies, new_files } = sources::of_kernel(file);
    let mut others = format!("; threads={threads}");
    // What most kernels do not say is left out.
    if let Some([x, y, z]) = cluster.filter(|dimensions| *dimensions != [1; 3]) {
        others += &format!("; cluster={x}x{y}x{z}");
    }
    if early {
        others += "; early=true";
    }
    others += &format!("; crate={}; sources={hash}", ascii(&crate_name));
    for (name, hash) in dependencies {
        others += &format!("; sources of {}={hash}", ascii(&name));
    }
    // Room for the types' names, and for what is behind them.
    let capacity = params.iter().map(|param| param.len() + 256 + 2).sum::<usize>() + others.len() + 128;
    // So that cargo compiles the crate again when one of them changes, also one of another
    // target's.
    let watched: Vec<&str> = new_files.iter().filter_map(|file| file.to_str()).collect();
    let watched = (!watched.is_empty()).then(|| quote!(const _: &[&[u8]] = &[#(::core::include_bytes!(#watched)),*];));
    let type_doc = format!("How the kernel `{name_text}` is launched.");
    Ok(quote! {
        #built
        // Into its entry. On the host it is compiled once, and as its crate is, whoever launches it.
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        // A kernel takes slices and numbers, and no struct that would hold them.
        #[allow(clippy::too_many_arguments)]
        #function

        // A type beside the function of the same name, and not a module: it sees what the function sees, also
        // where the function stands in another function.
        #built
        #[doc = #type_doc]
        #[allow(non_camel_case_types)]
        #visibility enum #name {}

        #built
        impl #name {
            const BOUNDS: ::ptx_matrix::launch::KernelInfo =
                ::ptx_matrix::launch::KernelInfo::new::<#shared>(
                    #name_text,
                    #threads,
                    #min_blocks,
                    #max_registers,
                    [#x, #y, #z],
                    #early,
                );

            const FINGERPRINT: ::ptx_matrix::launch::Text<#capacity> = ::ptx_matrix::launch::fingerprint(
                &Self::BOUNDS,
                &[#(#params, ::ptx_matrix::launch::type_name::<#types>(), "; "),*],
                #others,
            );

            /// What is known of the kernel.
            #[cfg(target_arch = "nvptx64")]
            pub const INFO: ::ptx_matrix::launch::KernelInfo = Self::BOUNDS;
            /// What is known of the kernel.
            #[cfg(not(target_arch = "nvptx64"))]
            pub const INFO: ::ptx_matrix::launch::KernelInfo = Self::BOUNDS.with_fingerprint(&Self::FINGERPRINT);

            #[doc(hidden)]
            const ASKS: bool = ::ptx_matrix::launch::asks(#early, &[#((
                <#types as ::ptx_matrix::launch::KernelParam>::IS_MEMORY,
                <#types as ::ptx_matrix::launch::KernelParam>::IS_EARLY,
            )),*]);

            #host
        }

        #built
        const _: bool = #name::ASKS;

        #watched

        #built
        #[cfg(target_arch = "nvptx64")]
        const _: () = { #device };
    })
}

/// A name as it can be in a PTX, where all is ASCII.
fn ascii(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii() { character } else { '?' }).collect()
}

impl Parameter {
    /// Its name, as the source has it.
    fn text(&self) -> String {
        self.name.unraw().to_string()
    }
}

fn check_signature(function: &ItemFn, has_cluster: bool) -> Result<()> {
    let signature = &function.sig;
    check_name(&signature.ident)?;
    if let Some(parameter) = signature.generics.params.first() {
        let message = "a kernel is one entry in the PTX and cannot be generic: call a generic function from it";
        return Err(Error::new_spanned(parameter, message));
    }
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new_spanned(&signature.output, "a kernel returns nothing: it writes to a `GlobalMut`"));
    }
    if signature.asyncness.is_some() || signature.unsafety.is_some() || signature.abi.is_some() {
        return Err(Error::new_spanned(&signature.ident, "a kernel is a plain `fn`"));
    }
    let type_name = |ty: &Type| match ty {
        Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem {
            Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        },
        _ => None,
    };
    let block = "a kernel's first parameter is its block: `block: &Block`";
    match signature.inputs.first() {
        Some(FnArg::Typed(first)) => match type_name(&first.ty).as_deref() {
            Some("Block") => Ok(()),
            Some("ClusterBlock") if has_cluster => Ok(()),
            Some("ClusterBlock") => {
                let message = "without clusters a kernel has no block of one: say `#[kernel(.., cluster = 2)]`";
                Err(Error::new_spanned(&first.ty, message))
            }
            _ => Err(Error::new_spanned(first, block)),
        },
        Some(other) => Err(Error::new_spanned(other, block)),
        None => Err(Error::new_spanned(&signature.ident, block)),
    }
}

/// A kernel's name goes into the PTX as it is.
fn check_name(name: &Ident) -> Result<()> {
    let text = name.unraw().to_string();
    let message = if !text.is_ascii() {
        format!(
            "a kernel's name goes into the PTX, whose names have ASCII letters, digits and `_` only: rename `{text}`"
        )
    } else if RESERVED.contains(&text.as_str()) || text.starts_with("__ptx_matrix_") {
        format!("`{text}` means something else in PTX, or to the builder: a kernel needs another name")
    } else {
        return Ok(());
    };
    Err(Error::new_spanned(name, message))
}

/// Names that a kernel cannot have: a constant of the assembler, and the functions that compiled
/// code calls without being written so. (The builder finds other functions that are called.)
const RESERVED: [&str; 7] = ["WARP_SZ", "memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"];

/// The parameters after the block; `#[shared]` is taken off them.
fn take_parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    for (index, input) in function.sig.inputs.iter_mut().enumerate().skip(1) {
        let FnArg::Typed(input) = input else { unreachable!("`self` can only come first, and was refused") };
        if let Some(cfg) = input.attrs.iter().find(|attribute| attribute.path().is_ident("cfg")) {
            let message = "a kernel's parameters are the same in every build: put the `cfg` on the kernel";
            return Err(Error::new_spanned(cfg, message));
        }
        let (attributes, pattern) = (input.attrs.len(), (*input.pat).clone());
        input.attrs.retain(|attribute| !attribute.path().is_ident("shared"));
        let shared = input.attrs.len() < attributes;
        let mut name = match &*input.pat {
            Pat::Ident(pattern) => pattern.ident.clone(),
            _ if shared => format_ident!("shared_{index}"),
            Pat::Wild(_) => format_ident!("parameter_{index}"),
            pattern => return Err(Error::new_spanned(pattern, "a kernel's parameter needs a plain name")),
        };
        // A name of its own in the launch functions, so that it may be `grid`, or the kernel's.
        name.set_span(Span::mixed_site().located_at(name.span()));
        parameters.push(Parameter { name, ty: (*input.ty).clone(), shared, pattern });
    }
    Ok(parameters)
}

/// `let (part, (part, ())) = ...;`: the shared parameters from the address of the whole.
fn shared_parts(parameters: &[Parameter], shared: &TokenStream, address: TokenStream) -> TokenStream {
    let names = parameters.iter().filter(|p| p.shared).map(|p| &p.name);
    let pattern = names.rev().fold(quote!(()), |rest, name| quote!((#name, #rest)));
    quote! {
        // SAFETY: the kernel's shared memory has the size and alignment that `INFO` says.
        #[allow(clippy::let_unit_value)]
        let #pattern = unsafe { <#shared as ::ptx_matrix::SharedLayout>::at(#address) };
    }
}

/// A `#[shared]` parameter, or a part of one, as the simulator's reports name it: by its own name, or, taken apart, by those
/// of its parts.
fn shared_field(pattern: &Pat, ty: &Type) -> TokenStream {
    let field = quote!(::ptx_matrix::sim::SharedField::of::<#ty>());
    match (pattern, ty) {
        (Pat::Ident(name), _) => {
            let name = name.ident.unraw().to_string();
            quote!(#field.named(#name))
        }
        (Pat::Tuple(patterns), Type::Tuple(types)) if patterns.elems.len() == types.elems.len() => {
            let parts = patterns.elems.iter().zip(&types.elems).map(|(pattern, ty)| shared_field(pattern, ty));
            let name_byte = name_byte(parts);
            quote!(#field.named("").with(#name_byte))
        }
        _ => quote!(#field.named("")),
    }
}

/// A function that names a byte of such fields.
fn name_byte(fields: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote!(|offset, name| ::ptx_matrix::sim::name_fields(offset, name, &[#(#fields),*]))
}

fn device_entry(
    function: &ItemFn,
    parameters: &[Parameter],
    shared: &TokenStream,
    blocks: Option<usize>,
    early: bool,
) -> TokenStream {
    let name = &function.sig.ident;
    let name_text = name.unraw().to_string();
    // With the path of its module, so that two kernels of one name come as far as the builder, which
    // tells where they are.
    let exported = |start: &str| quote!(::core::concat!(#start, ::core::module_path!(), "::", #name_text));
    let [entry, metadata, fingerprint] = ["", "__ptx_matrix_kernel_", "__ptx_matrix_signature_"].map(exported);
    let symbol = format!("mov.u32 {{0}}, __ptx_matrix_shared_{name_text};");
    let has_shared = parameters.iter().any(|p| p.shared);
    let address = if has_shared {
        quote!({
            let address: u32;
            // SAFETY: the address of a variable in shared memory, which the builder declares.
            unsafe { ::core::arch::asm!(#symbol, lateout(reg32) address, options(pure, nomem, nostack)) };
            address
        })
    } else {
        quote!(0)
    };
    let parts = shared_parts(parameters, shared, address);
    let given: Vec<&Parameter> = parameters.iter().filter(|p| !p.shared).collect();
    let (names, types): (Vec<_>, Vec<_>) = given.iter().map(|p| (&p.name, &p.ty)).unzip();
    let texts: Vec<_> = given.iter().map(|p| p.text()).collect();
    let (heads, tails): (Vec<_>, Vec<_>) =
        names.iter().map(|name| (format_ident!("{name}_head"), format_ident!("{name}_tail"))).unzip();
    let arguments = parameters.iter().map(|p| &p.name);
    let begin = early.then(|| quote!(::ptx_matrix::launch::begin_early(&#name::INFO, #name::ASKS);));
    let end = early.then(|| quote!(::ptx_matrix::launch::end_early(#name::ASKS);));
    let block = match blocks {
        Some(blocks) => quote!(::ptx_matrix::ClusterBlock::<#blocks>),
        None => quote!(::ptx_matrix::Block),
    };
    quote! {
        #[unsafe(export_name = #metadata)]
        static METADATA: [u32; 9] = #name::INFO.metadata(&[#((
            <#types as ::ptx_matrix::launch::KernelParam>::PTX_PARAMS,
            <#types as ::ptx_matrix::launch::KernelParam>::BY_VALUE,
        )),*]);

        // For the builder, which writes it into the PTX.
        #[unsafe(export_name = #fingerprint)]
        static FINGERPRINT: [u8; #name::FINGERPRINT.bytes.len()] = #name::FINGERPRINT.bytes;

        #[unsafe(export_name = #entry)]
        #[allow(improper_ctypes_definitions)]
        unsafe extern "ptx-kernel" fn entry(
            #(
                #heads: <#types as ::ptx_matrix::launch::KernelParam>::Head,
                #tails: <#types as ::ptx_matrix::launch::KernelParam>::Tail,
            )*
        ) {
            #begin
            // SAFETY: a launch checks the block's size, and made the parameters.
            let block = unsafe { #block::enter(#name::INFO.threads as usize) };
            #(
                // SAFETY: likewise.
                let #names = unsafe {
                    <#types as ::ptx_matrix::launch::KernelParam>::enter(#heads, #tails, #texts)
                };
            )*
            #parts
            #name(&block, #(#arguments),*);
            #end
        }
    }
}

fn host_launch(
    function: &ItemFn,
    parameters: &[Parameter],
    shared: &TokenStream,
    blocks: Option<usize>,
) -> TokenStream {
    let name = &function.sig.ident;
    let given: Vec<&Parameter> = parameters.iter().filter(|p| !p.shared).collect();
    let (names, types): (Vec<_>, Vec<_>) = given.iter().map(|p| (&p.name, &p.ty)).unzip();
    let texts: Vec<_> = given.iter().map(|p| p.text()).collect();
    let parts = shared_parts(parameters, shared, quote!(::ptx_matrix::sim::SHARED_BASE));
    let arguments = parameters.iter().map(|p| &p.name);
    let name_byte = name_byte(parameters.iter().filter(|p| p.shared).map(|p| shared_field(&p.pattern, &p.ty)));
    let block = blocks.map(|blocks| quote!(let block = &::ptx_matrix::ClusterBlock::<#blocks>::simulated(block);));
    quote! {
        /// Runs the kernel on a device: its arguments behind the grid, buffers by reference.
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        pub fn launch<'h, PtxMatrixDevice: ::ptx_matrix::launch::Device + 'h>(
            device: &PtxMatrixDevice,
            grid: impl ::core::convert::Into<::ptx_matrix::Grid>,
            #(#names: <#types as ::ptx_matrix::launch::KernelParam>::Host<'h, PtxMatrixDevice>,)*
        ) -> ::core::result::Result<PtxMatrixDevice::Report, PtxMatrixDevice::Error> {
            #(let #names = <#types as ::ptx_matrix::launch::KernelParam>::bind(device, #names, #texts);)*
            #[allow(unused_mut)]
            let mut params = ::ptx_matrix::launch::Params::new();
            #(<#types as ::ptx_matrix::launch::KernelParam>::values(#names, &mut params);)*
            // SAFETY: it calls the kernel with its parameters.
            let body = unsafe {
                ::ptx_matrix::launch::KernelBody::new(move |block: &::ptx_matrix::Block<'_>| {
                    #block
                    #parts
                    #name(block, #(#arguments),*)
                })
            };
            let launch = ::ptx_matrix::launch::Launch {
                kernel: &Self::INFO,
                grid: ::core::convert::Into::into(grid),
                params: &params,
                body: &|block| body.run(block),
                name_byte: #name_byte,
            };
            // SAFETY: the parameters are this kernel's, of buffers that are borrowed until this returns.
            unsafe { device.launch(launch) }
        }

        /// Runs the kernel on the simulator: its arguments behind the grid, buffers as slices.
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        pub fn simulate(
            grid: impl ::core::convert::Into<::ptx_matrix::Grid>,
            #(#names: <#types as ::ptx_matrix::launch::KernelParam>::Host<'_, ::ptx_matrix::sim::Simulator>,)*
        ) -> ::core::result::Result<::ptx_matrix::sim::Report, ::ptx_matrix::sim::SimError> {
            Self::launch(&::ptx_matrix::sim::Simulator::default(), grid, #(#names),*)
        }
    }
}
