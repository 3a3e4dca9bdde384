import{K as e}from"./base.js";function t(){let t=new e([document],{onName:()=>{},onPin:()=>{},isOfPage:!0});return t.light(),t}export{t as followItems};
